/// The varlink interface `org.syncd.Store`: its name and its description.
///
/// The description is the contract of the wire, and the file `org.syncd.Store.varlink` beside this
/// one is its only source: it is compiled into every program that uses this module, the daemon
/// answers `GetInterfaceDescription` with its bytes, and it is what gets installed for programs in
/// other languages. `docs/protocol.md` explains it. An interface is never versioned: it grows by
/// nullable fields and by new methods; a change that breaks callers gets a new name.
public enum StoreInterface {
    /// The interface's name.
    public static let name = "org.syncd.Store"

    /// A method's qualified name, for a call.
    public static func method(_ method: String) -> String { name + "." + method }

    /// The interface in varlink's definition language: the text of `org.syncd.Store.varlink`.
    public static let description = String(
        decoding: PackageResources.org_syncd_Store_varlink, as: UTF8.self)
}

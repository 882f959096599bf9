/// The programs of this package. They are one file, and the name of the file, or of the link to it,
/// says which one runs.
package enum Program: Sendable {
    case daemon, tool

    /// By `argv[0]`: names that begin with `syncd` or `synctool`, so that `syncd-0.1.0` is one.
    /// `exe` is `/proc/self/exe`, by which a daemon starts workers after its file was replaced. Nil
    /// for all others: who calls the tool by a name of their own must not get a daemon.
    package init?(calledAs path: String) {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        if name.hasPrefix("synctool") {
            self = .tool
        } else if name.hasPrefix("syncd") || name == "exe" {
            self = .daemon
        } else {
            return nil
        }
    }
}

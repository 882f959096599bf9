import SyncCore
import SyncReplica

/// Where a remote is: `dir:/path` or `ssh://[user@]host[:port]/path/to.db`.
package enum RemoteAddress: Sendable, Hashable {
    /// A folder, on a disk or carried by a file syncer; the path is absolute.
    case directory(path: String)
    /// Another store, through `synctool serve --stdio` on its machine.
    case ssh(SSHAddress)

    private static let directoryScheme = "dir:"
    private static let forms = "dir:/path or ssh://[user@]host[:port]/path/to.db"

    /// Reads an address.
    /// - Throws: `invalidArgument`, with the forms that exist, and for a password, which is not
    ///   repeated; `refused` for the address of a hub.
    package init(_ text: String) throws {
        let shown = AddressText.withoutPassword(text)
        if text.hasPrefix(Self.directoryScheme) {
            let path = String(text.dropFirst(Self.directoryScheme.count))
            guard path.hasPrefix("/") else {
                throw Self.malformed(text, because: "the path of a folder must be absolute")
            }
            self = .directory(path: path)
        } else if text.hasPrefix(SSHAddress.scheme) {
            guard shown == text else { throw Self.hasPassword(shown) }
            guard let address = SSHAddress(text) else { throw Self.malformed(text) }
            self = .ssh(address)
        } else if text.hasPrefix("https://"), text.count > "https://".count {
            throw SyncError(
                .refused, "\(shown) is a hub, which this version does not support",
                hint: "Use a folder (dir:/path) or another store (ssh://host/path/to.db)")
        } else if text.hasPrefix("/") {
            throw Self.malformed(text, hint: "For a folder, use: dir:\(text)")
        } else {
            throw Self.malformed(text)
        }
    }

    /// It would be in the database, in the list of processes and in the history of the shell; and
    /// ssh takes none.
    private static func hasPassword(_ shown: String) -> SyncError {
        SyncError(
            .invalidArgument, "the address has a password in it: \(shown)",
            hint: "Leave it out: ssh://user@host/path/to.db. ssh logs in with a key: ssh-keygen, "
                + "then ssh-copy-id user@host. Change the password: the history of the shell may "
                + "have it")
    }

    private static func malformed(
        _ text: String, because reason: String? = nil, hint: String? = nil
    ) -> SyncError {
        SyncError(
            .invalidArgument,
            "'\(AddressText.withoutPassword(text))' is not a remote address"
                + (reason.map { ": " + $0 } ?? ""),
            hint: hint ?? "Use \(forms)")
    }
}

extension RemoteAddress: CustomStringConvertible {
    /// The address as it was read.
    package var description: String {
        switch self {
        case .directory(let path): return Self.directoryScheme + path
        case .ssh(let address): return address.description
        }
    }
}

import SyncCore

/// Where a remote is: `dir:/path`, `ssh://[user@]host[:port]/path/to.db`, `https://host/org/store`.
public enum RemoteAddress: Sendable, Hashable {
    /// A folder, which any file syncer may carry.
    case directory(path: String)
    /// Another store, through `synctool serve --stdio` on its machine.
    case ssh(user: String?, host: String, port: Int?, path: String)
    /// A hub.
    case hub(url: String)

    /// Reads an address.
    /// - Throws: `invalidArgument` with the forms that there are.
    public init(_ text: String) throws {
        if text.hasPrefix("dir:") {
            let path = String(text.dropFirst("dir:".count))
            guard path.hasPrefix("/") else { throw Self.unreadable(text) }
            self = .directory(path: path)
        } else if text.hasPrefix("ssh://") {
            self = try Self.ssh(text)
        } else if text.hasPrefix("https://"), text.count > "https://".count {
            self = .hub(url: text)
        } else {
            throw Self.unreadable(text)
        }
    }

    private static func ssh(_ text: String) throws -> RemoteAddress {
        let rest = text.dropFirst("ssh://".count)
        guard let slash = rest.firstIndex(of: "/") else { throw unreadable(text) }
        var authority = rest[..<slash]
        var user: String?
        if let at = authority.firstIndex(of: "@") {
            user = String(authority[..<at])
            authority = authority[authority.index(after: at)...]
        }
        var port: Int?
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard let number = Int(authority[authority.index(after: colon)...]),
                (1...65_535).contains(number)
            else { throw unreadable(text) }
            port = number
            authority = authority[..<colon]
        }
        // A host or user that begins with a dash would be an option of ssh.
        let path = String(rest[slash...])
        guard !authority.isEmpty, !authority.hasPrefix("-"), user?.isEmpty != true,
            user?.hasPrefix("-") != true, path.count > 1
        else { throw unreadable(text) }
        return .ssh(user: user, host: String(authority), port: port, path: path)
    }

    private static func unreadable(_ text: String) -> SyncError {
        SyncError(
            .invalidArgument, "\(text) is not the address of a remote",
            hint: "Use dir:/path, ssh://[user@]host[:port]/path/to.db or https://host/org/store")
    }
}

extension RemoteAddress: CustomStringConvertible {
    /// The address as it was read.
    public var description: String {
        switch self {
        case .directory(let path): return "dir:" + path
        case .ssh(let user, let host, let port, let path):
            return "ssh://" + (user.map { $0 + "@" } ?? "") + host
                + (port.map { ":\($0)" } ?? "") + path
        case .hub(let url): return url
        }
    }
}

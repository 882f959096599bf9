import SyncMerge

/// The address of a store on another machine: `ssh://[user@]host[:port]/path/to.db`.
package struct SSHAddress: Sendable, Hashable {
    /// The login name; nil: the one that ssh chooses.
    package let user: String?
    /// A host name or an address; an IPv6 address is in brackets.
    package let host: String
    /// 1 to 65535; nil: the one that ssh chooses.
    package let port: Int?
    /// The absolute path of the database on that machine.
    package let path: String

    static let scheme = "ssh://"

    /// An address from its parts.
    package init(user: String?, host: String, port: Int?, path: String) {
        self.user = user
        self.host = host
        self.port = port
        self.path = path
    }

    /// Reads a URL; nil when it is malformed.
    package init?(_ url: String) {
        guard url.hasPrefix(Self.scheme) else { return nil }
        let rest = url.dropFirst(Self.scheme.count)
        guard let slash = rest.firstIndex(of: "/") else { return nil }
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
            else { return nil }
            port = number
            authority = authority[..<colon]
        }
        // ssh would take a host or user that begins with a dash for an option.
        let path = String(rest[slash...])
        guard !authority.isEmpty, !authority.hasPrefix("-"), user?.isEmpty != true,
            user?.hasPrefix("-") != true, path.count > 1
        else { return nil }
        self.init(user: user, host: String(authority), port: port, path: path)
    }

    /// The host as ssh takes it: only a URL has brackets around an IPv6 address.
    var hostOfSSH: String {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        return isBracketed ? String(host.dropFirst().dropLast()) : host
    }

    /// The ssh command for this host without a remote command: what a user types to test the login.
    var login: String {
        let target = (user.map { $0 + "@" } ?? "") + hostOfSSH
        return "ssh " + (port.map { "-p \($0) " } ?? "") + Shell.quoted(target)
    }
}

extension SSHAddress: CustomStringConvertible {
    /// The URL as it was read.
    package var description: String {
        Self.scheme + (user.map { $0 + "@" } ?? "") + host + (port.map { ":\($0)" } ?? "") + path
    }
}

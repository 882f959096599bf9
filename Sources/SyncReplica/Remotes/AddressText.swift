/// Addresses as messages show them.
package enum AddressText {
    /// An address, also one that is none, without what looks like a password: in
    /// `ssh://user:password@host/path` everything between the first colon after the scheme and the
    /// last `@`. Only `…` is left of it.
    package static func withoutPassword(_ address: String) -> String {
        if address.hasPrefix("dir:") { return address }
        let scheme = address.firstRange(of: "://")
        let start = scheme?.upperBound ?? address.startIndex
        // A password may have a slash in it; a path of an address that is well formed may have
        // colons and `@` of its own.
        let rest = address[start...]
        let authority = rest.prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") ?? lateAt(in: rest, after: authority),
            let mark = colon(in: rest[..<at])
        else { return address }
        return "\(address[..<mark.upperBound])…\(address[at...])"
    }

    /// The colon that begins a password, as it is or encoded.
    private static func colon(in userInfo: Substring) -> Range<String.Index>? {
        [":", "%3a", "%3A"].compactMap { userInfo.firstRange(of: $0) }
            .min { $0.lowerBound < $1.lowerBound }
    }

    /// The last `@` behind a slash, where what is before the slash is no host with a port.
    private static func lateAt(in rest: Substring, after authority: Substring) -> String.Index? {
        guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else {
            return nil
        }
        let port = authority[authority.index(after: colon)...]
        guard Int(port).map({ 1...65_535 ~= $0 }) != true else { return nil }
        return rest.lastIndex(of: "@")
    }
}

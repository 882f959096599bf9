/// The address of a service: `unix:/path`, `unix:@abstract`, or a plain path.
public struct VarlinkAddress: Sendable, Hashable, CustomStringConvertible {
    /// Bytes of a socket's path at most: Linux has 108, one of which ends the path.
    public static let pathBytesMax = 107

    /// The path; an abstract name begins with `@`.
    public let path: String

    /// Reads an address.
    ///
    /// - Throws: `TransportError` (`invalidAddress`) for other transports and for paths that are
    ///   empty or too long for a socket.
    public init(_ text: String) throws {
        var path = text
        if text.hasPrefix("unix:") {
            path = String(text.dropFirst("unix:".count))
            // `;` begins options in some implementations; none of them matters here.
            if let options = path.firstIndex(of: ";") { path = String(path[..<options]) }
        } else if text.hasPrefix("tcp:") || text.hasPrefix("ssh:") || text.hasPrefix("exec:") {
            throw TransportError(
                .invalidAddress, "only Unix sockets are supported", path: text,
                hint: "use unix:/path")
        }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw TransportError(.invalidAddress, "not the path of a socket", path: text)
        }
        guard path.utf8.count <= Self.pathBytesMax else {
            throw TransportError(
                .invalidAddress,
                "the path has \(path.utf8.count) bytes, a socket's may have \(Self.pathBytesMax)",
                path: path, hint: "use a shorter path, or change into the directory first")
        }
        self.path = path
    }

    /// Whether the name is outside the file system (and so has no permissions).
    public var isAbstract: Bool { path.hasPrefix("@") }

    /// The address in varlink's notation.
    public var description: String { "unix:\(path)" }
}

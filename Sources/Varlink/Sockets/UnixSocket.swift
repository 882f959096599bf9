import CLinux
import Glibc

/// Unix stream sockets as descriptors, for what NIO does not have: paths of up to 107 bytes (NIO
/// allows 103), the file's mode set before a client can connect, errors with the path.
enum UnixSocket {
    /// A socket that does not block and is not inherited by child processes.
    ///
    /// - Throws: `TransportError` (`cannotConnect`) when the process has no descriptor left.
    static func make() throws -> CInt {
        let type =
            CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else {
            throw TransportError(.cannotConnect, "no socket: \(message(errno))")
        }
        return descriptor
    }

    /// Two connected sockets of this type, which do not block and are not inherited.
    ///
    /// - Throws: `TransportError` (`cannotConnect`) when the process has no descriptor left.
    static func pair(_ type: CInt) throws -> (own: CInt, other: CInt) {
        var ends: [CInt] = [-1, -1]
        let error = syncd_socket_pair(type, &ends)
        guard error == 0 else {
            throw TransportError(.cannotConnect, "no socket: \(message(error))")
        }
        return (ends[0], ends[1])
    }

    /// Connects. Returns 0, or the error number. Never blocks: on Unix sockets a connection is made
    /// at once, or refused, or (EAGAIN) the other side has too many in its queue.
    static func connect(_ descriptor: CInt, to address: VarlinkAddress) -> CInt {
        withSocketAddress(address) { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    /// Binds. Returns 0, or the error number.
    static func bind(_ descriptor: CInt, to address: VarlinkAddress) -> CInt {
        withSocketAddress(address) { Glibc.bind(descriptor, $0, $1) == 0 ? 0 : errno }
    }

    /// The system's message for an error number.
    static func message(_ number: CInt) -> String {
        guard let text = strerror(number) else { return "error \(number)" }
        return String(cString: text)
    }

    private static func withSocketAddress<Result>(
        _ address: VarlinkAddress, body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var raw = sockaddr_un()
        raw.sun_family = sa_family_t(AF_UNIX)
        let path = Array(address.path.utf8)
        withUnsafeMutableBytes(of: &raw.sun_path) { target in
            precondition(path.count < target.count, "an address has a path that fits")
            target.copyBytes(from: path)
            if address.isAbstract { target[0] = 0 }
        }
        // The end of an abstract name is given only by its length.
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = address.isAbstract ? offset + path.count : MemoryLayout<sockaddr_un>.size
        return withUnsafePointer(to: &raw) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(length))
            }
        }
    }
}

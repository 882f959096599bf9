#if canImport(Glibc)
    import Glibc
#endif

/// The path of the daemon's socket.
public enum SocketPath {
    /// The system daemon's socket.
    public static let system = "/run/syncd/syncd.sock"

    /// The socket of a user's own daemon, or nil without `XDG_RUNTIME_DIR`.
    public static func user(_ environment: (String) -> String? = variable) -> String? {
        environment("XDG_RUNTIME_DIR").map { $0 + "/syncd/syncd.sock" }
    }

    /// The socket that a client connects to: `SYNCD_SOCKET` when it is set, else that of the user's
    /// daemon where it exists, else the system daemon's.
    public static func find(_ environment: (String) -> String? = variable) -> String {
        if let path = environment("SYNCD_SOCKET") { return path }
        if let path = user(environment), access(path, F_OK) == 0 { return path }
        return system
    }

    /// A variable of this process's environment; nil when it is not set or empty.
    public static func variable(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(cString: value)
    }
}

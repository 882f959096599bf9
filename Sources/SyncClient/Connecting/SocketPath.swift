#if canImport(Glibc)
    import Glibc
#endif

/// Where the daemon listens.
public enum SocketPath {
    /// The system daemon's socket.
    public static let system = "/run/syncd/syncd.sock"

    /// The socket of a user's own daemon, or nil without `XDG_RUNTIME_DIR`.
    public static func user(_ environment: (String) -> String? = variable) -> String? {
        environment("XDG_RUNTIME_DIR").map { $0 + "/syncd/syncd.sock" }
    }

    /// Where a client looks: `SYNCD_SOCKET` when it is set, else the user's daemon where its socket
    /// exists, else the system's.
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

import Glibc
import SyncClient

/// The files of a system's and of a user's daemon.
struct ConfigurationPaths: Sendable, Equatable {
    /// The daemon of the system, not of a user.
    let isSystem: Bool
    /// The main file. It may be missing, unless it was named.
    let file: String
    /// Further files, one or more stores each.
    let storesDirectory: String
    /// The socket.
    let socket: String
    /// Where state is kept.
    let stateDirectory: String

    /// - Parameter environment: variables by name; nil when not set.
    init(isSystem: Bool, environment: (String) -> String? = SocketPath.variable) {
        self.isSystem = isSystem
        if isSystem {
            file = "/etc/syncd/syncd.yaml"
            storesDirectory = "/etc/syncd/stores.d"
            socket = SocketPath.system
            stateDirectory = Self.fromManager(environment) ?? "/var/lib/syncd"
        } else {
            let home = environment("HOME") ?? "/"
            let configuration = environment("XDG_CONFIG_HOME") ?? home + "/.config"
            file = configuration + "/syncd/syncd.yaml"
            storesDirectory = configuration + "/syncd/stores.d"
            socket = SocketPath.user(environment) ?? "/run/user/\(getuid())/syncd/syncd.sock"
            // STATE_DIRECTORY does not count here: systemd before 254 puts a user unit's below
            // ~/.config.
            stateDirectory = (environment("XDG_STATE_HOME") ?? home + "/.local/state") + "/syncd"
        }
    }

    /// The first directory of the unit's `StateDirectory=`.
    private static func fromManager(_ environment: (String) -> String?) -> String? {
        environment("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init)
    }
}

import Glibc

/// How an `ssh:` remote is reached, beyond its address.
package struct SSHOptions: Sendable, Hashable {
    /// The variable that names another program than `ssh`; it gets ssh's arguments.
    package static let programVariable = "SYNCD_SSH"
    /// The variable with the longest silence, in seconds.
    package static let timeoutVariable = "SYNCD_SSH_TIMEOUT"

    /// The program to run.
    package var program = "ssh"
    /// `synctool` on the other machine: a name in its PATH, or a path.
    package var synctool = "synctool"
    /// How long the other side may say nothing; nil: the defaults.
    package var silenceMax: Duration?

    /// The defaults, as the environment changes them.
    package init() {
        if let program = getenv(Self.programVariable), program.pointee != 0 {
            self.program = String(cString: program)
        }
        if let text = getenv(Self.timeoutVariable), let seconds = Int(String(cString: text)),
            seconds > 0
        {
            silenceMax = .seconds(seconds)
        }
    }
}

import Glibc

/// How an `ssh:` remote is reached, in addition to its address.
package struct SSHOptions: Sendable, Hashable {
    /// The environment variable that names a program to run instead of `ssh`, with the same
    /// arguments.
    package static let programVariable = "SYNCD_SSH"
    /// The environment variable with ``timeout``, in seconds.
    package static let timeoutVariable = "SYNCD_SSH_TIMEOUT"

    /// The program to run.
    package var program = "ssh"
    /// `synctool` on the remote machine: a name in its PATH, or a path.
    package var synctool = "synctool"
    /// How long to wait for the next byte of the peer; nil: the defaults.
    package var timeout: Duration?

    /// The defaults, overridden by the environment.
    package init() {
        if let program = getenv(Self.programVariable), program.pointee != 0 {
            self.program = String(cString: program)
        }
        if let text = getenv(Self.timeoutVariable), let seconds = Int(String(cString: text)),
            seconds > 0
        {
            timeout = .seconds(seconds)
        }
    }
}

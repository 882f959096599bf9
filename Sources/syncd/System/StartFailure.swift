import Varlink

/// Why the daemon could not start, with the status to end with.
struct StartFailure: Error, CustomStringConvertible {
    let exitStatus: Int32
    let description: String

    init(exitStatus: Int32, _ description: String) {
        self.exitStatus = exitStatus
        self.description = description
    }

    /// The socket could not be had.
    init(_ error: TransportError, _ socket: String) {
        let hint = error.hint.map { " (\($0))" } ?? ""
        switch error.code {
        case .addressInUse:
            self.init(
                exitStatus: 69,
                "\(socket): \(error.reason)\(hint); one daemon serves all: see `synctool status`, "
                    + "or choose another --socket")
        case .invalidAddress: self.init(exitStatus: 78, "\(socket): \(error.reason)\(hint)")
        default: self.init(exitStatus: 77, "\(socket): \(error.reason)\(hint)")
        }
    }
}

/// The version, as the tool and the package say it.
enum SyncdVersion {
    static let current = "0.1.0"
}

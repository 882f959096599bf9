import Varlink

/// Why the daemon could not start, with its exit status.
struct StartFailure: Error, CustomStringConvertible {
    let exitStatus: Int32
    let description: String

    init(exitStatus: Int32, _ description: String) {
        self.exitStatus = exitStatus
        self.description = description
    }

    /// The daemon cannot listen on its socket.
    init(_ error: TransportError, at socket: String) {
        let hint = error.hint.map { " (\($0))" } ?? ""
        switch error.code {
        case .addressInUse:
            self.init(
                exitStatus: 69,
                "\(socket): \(error.reason)\(hint); one daemon serves all stores: see `synctool "
                    + "status`, or choose another --socket and --state")
        case .invalidAddress: self.init(exitStatus: 78, "\(socket): \(error.reason)\(hint)")
        default: self.init(exitStatus: 77, "\(socket): \(error.reason)\(hint)")
        }
    }
}

import SyncCore
import Varlink

extension SyncError {
    /// The error on the wire.
    public var varlinkError: VarlinkError {
        var parameters: JSONObject = ["reason": .string(fullReason)]
        parameters["hint"] = hint.map { .string($0) }
        parameters["path"] = path.map { .string($0) }
        parameters["operation"] = operation.map { .string($0) }
        return VarlinkError(ErrorTable.varlinkError(for: code), parameters: parameters)
    }

    /// With the reason of the underlying error, which is not on the wire.
    private var fullReason: String {
        guard let cause = underlying as? SyncError, cause.reason != reason else { return reason }
        return "\(reason) (\(cause.reason))"
    }

    /// An error that a service answered, or of the connection to it, as an error of this module.
    ///
    /// - Parameter socket: the daemon's socket, for the message.
    public init(answer error: any Error, socket: String) {
        switch error {
        case let error as SyncError: self = error
        case let error as VarlinkError: self.init(error)
        case let error as TransportError: self.init(error, socket: socket)
        default: self.init(.internalFault, "\(error)", underlying: error)
        }
    }

    private init(_ error: VarlinkError) {
        let parameters = error.parameters
        if let code = ErrorTable.code(ofVarlinkError: error.name) {
            self.init(
                code, parameters["reason"]?.string ?? code.name,
                operation: parameters["operation"]?.string, path: parameters["path"]?.string,
                hint: parameters["hint"]?.string)
            return
        }
        switch error.name {
        case "org.varlink.service.InvalidParameter":
            let name = parameters["parameter"]?.string ?? ""
            self.init(.invalidArgument, "the daemon does not accept the parameter '\(name)'")
        case "org.varlink.service.InterfaceNotFound", "org.varlink.service.MethodNotFound",
            "org.varlink.service.MethodNotImplemented":
            self.init(
                .unreachable,
                "the service at this socket is not syncd, or an older version (\(error.name))",
                hint: "Restart the daemon after an upgrade: systemctl restart syncd")
        case "org.varlink.service.PermissionDenied":
            self.init(.notAllowed, "the daemon refused permission")
        default: self.init(.internalFault, "the daemon answered \(error)")
        }
    }

    private init(_ error: TransportError, socket: String) {
        switch error.code {
        case .invalidAddress:
            self.init(.invalidArgument, error.reason, path: error.path, hint: error.hint)
        case .malformedMessage, .messageTooLarge:
            self.init(.badData, "the daemon's answer cannot be read: \(error.reason)", path: socket)
        case .notPermitted:
            self.init(
                .notAllowed, "permission to connect to the daemon is denied",
                path: error.path ?? socket,
                hint: SocketGroup.hint(for: error.path ?? socket),
                underlying: error)
        default:
            self.init(
                .unreachable, "the daemon does not answer (\(error.reason))",
                path: error.path ?? socket,
                hint: "Start it: systemctl start syncd, or syncd --user, or give its --socket",
                underlying: error)
        }
    }
}

/// An error that a service answers: a qualified name and parameters, as the interface defines them.
public struct VarlinkError: Error, Hashable, CustomStringConvertible {
    /// The qualified name, such as `org.varlink.service.MethodNotFound`.
    public var name: String
    /// What the error tells.
    public var parameters: JSONObject

    /// Makes an error.
    public init(_ name: String, _ parameters: JSONObject = [:]) {
        self.name = name
        self.parameters = parameters
    }

    /// Name and parameters.
    public var description: String { parameters.isEmpty ? name : "\(name) \(parameters)" }
}

extension VarlinkError {
    /// No such interface here.
    public static func interfaceNotFound(_ interface: String) -> VarlinkError {
        VarlinkError("org.varlink.service.InterfaceNotFound", ["interface": .string(interface)])
    }

    /// The interface has no such method.
    public static func methodNotFound(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotFound", ["method": .string(method)])
    }

    /// The interface defines the method, this service does not do it.
    public static func methodNotImplemented(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotImplemented", ["method": .string(method)])
    }

    /// A parameter is missing, unknown or wrong: its field.
    public static func invalidParameter(_ field: String) -> VarlinkError {
        VarlinkError("org.varlink.service.InvalidParameter", ["parameter": .string(field)])
    }

    /// The caller may not do this.
    public static let permissionDenied = VarlinkError("org.varlink.service.PermissionDenied")

    /// The method answers many times: it must be called with `more`.
    public static let expectedMore = VarlinkError("org.varlink.service.ExpectedMore")
}

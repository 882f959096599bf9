/// An error reply of a service: a qualified name and parameters, as the interface defines them.
public struct VarlinkError: Error, Hashable, CustomStringConvertible {
    /// The qualified name, such as `org.varlink.service.MethodNotFound`.
    public var name: String
    /// The parameters of the error.
    public var parameters: JSONObject

    /// Makes an error.
    public init(_ name: String, parameters: JSONObject = [:]) {
        self.name = name
        self.parameters = parameters
    }

    /// Name and parameters.
    public var description: String { parameters.isEmpty ? name : "\(name) \(parameters)" }
}

extension VarlinkError {
    /// No such interface here.
    public static func interfaceNotFound(_ interface: String) -> VarlinkError {
        VarlinkError(
            "org.varlink.service.InterfaceNotFound", parameters: ["interface": .string(interface)])
    }

    /// The interface has no such method.
    public static func methodNotFound(_ method: String) -> VarlinkError {
        VarlinkError("org.varlink.service.MethodNotFound", parameters: ["method": .string(method)])
    }

    /// The interface defines the method, but this service does not implement it.
    public static func methodNotImplemented(_ method: String) -> VarlinkError {
        VarlinkError(
            "org.varlink.service.MethodNotImplemented", parameters: ["method": .string(method)])
    }

    /// A parameter is missing, unknown or of the wrong type.
    public static func invalidParameter(_ field: String) -> VarlinkError {
        VarlinkError(
            "org.varlink.service.InvalidParameter", parameters: ["parameter": .string(field)])
    }

    /// The caller has no permission for this call.
    public static let permissionDenied = VarlinkError("org.varlink.service.PermissionDenied")

    /// The method sends several replies: it must be called with `more`.
    public static let expectedMore = VarlinkError("org.varlink.service.ExpectedMore")
}

/// An error that methods of the interface may answer.
public struct ErrorDefinition: Sendable, Hashable {
    /// The name within its interface.
    public var name: String
    /// The parameters of the error.
    public var parameters: [Field]
    /// The comment lines before it, without their `#`.
    public var documentation: [String]

    /// Makes an error.
    public init(name: String, parameters: [Field], documentation: [String] = []) {
        self.name = name
        self.parameters = parameters
        self.documentation = documentation
    }
}

/// A named type: a structure or an enumeration.
public struct TypeDefinition: Sendable, Hashable {
    /// The name within its interface.
    public var name: String
    /// A `.structure` or an `.enumeration`.
    public var type: TypeReference
    /// The comment lines before it, without their `#`.
    public var documentation: [String]

    /// Makes a type.
    public init(name: String, type: TypeReference, documentation: [String] = []) {
        self.name = name
        self.type = type
        self.documentation = documentation
    }
}

/// A named value of a structure, of a method's parameters or of an error's.
public struct Field: Sendable, Hashable {
    /// The field's name.
    public var name: String
    /// The type of its value.
    public var type: TypeReference
    /// The comment lines before it, without their `#`.
    public var documentation: [String]

    /// Makes a field.
    public init(name: String, type: TypeReference, documentation: [String] = []) {
        self.name = name
        self.type = type
        self.documentation = documentation
    }
}

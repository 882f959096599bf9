/// A type as an interface definition writes it.
public indirect enum TypeReference: Sendable, Hashable {
    case bool
    case int
    case float
    case string
    /// Any JSON value, not described further.
    case object
    /// A type that the same interface defines by this name.
    case named(String)
    /// An object with these fields.
    case structure([Field])
    /// A string that is one of these.
    case enumeration([EnumerationCase])
    /// `[]T`
    case array(TypeReference)
    /// `[string]T`
    case map(TypeReference)
    /// `?T`: may be null or left out. Never of another optional.
    case optional(TypeReference)
}

/// A named value of a structure, of a method's parameters or of an error's.
public struct Field: Sendable, Hashable {
    /// The field's name.
    public var name: String
    /// What it holds.
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

/// One of the names an enumeration allows.
public struct EnumerationCase: Sendable, Hashable {
    /// The string that goes over the wire.
    public var name: String
    /// The comment lines before it, without their `#`.
    public var documentation: [String]

    /// Makes a case.
    public init(name: String, documentation: [String] = []) {
        self.name = name
        self.documentation = documentation
    }
}

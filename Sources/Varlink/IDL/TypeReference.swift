/// A type of an interface definition.
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

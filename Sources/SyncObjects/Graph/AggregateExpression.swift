/// A value computed over many objects.
public struct AggregateExpression: Sendable, Hashable {
    /// What is computed.
    public enum Function: String, Sendable {
        /// The number of objects with a value.
        case count
        /// Their sum.
        case sum
        /// Their mean.
        case average = "avg"
        /// The least.
        case minimum = "min"
        /// The greatest.
        case maximum = "max"
    }

    /// Its name in the result.
    public let name: String
    /// What is computed.
    public let function: Function
    /// The attribute; nil to count objects.
    public let attribute: String?

    /// Makes an expression.
    public init(_ name: String, computing function: Function, of attribute: String? = nil) {
        self.name = name
        self.function = function
        self.attribute = attribute
    }
}

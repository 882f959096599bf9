import SyncValues

/// Property names with their values, in column order.
public struct NamedValues: Sendable, Hashable {
    /// Pairs in column order; no name comes twice. Without the properties in ``references``.
    public let pairs: [Pair]
    /// The values that are too large to be sent with the others: each is fetched when it is wanted.
    /// Empty, unless the values were read in parts (``PartLimits``) or come from the daemon.
    public let references: [ValueReference]

    /// A property and its value.
    public struct Pair: Sendable, Hashable {
        /// The property's name.
        public let name: String
        /// Its value.
        public let value: Value

        /// Makes a pair.
        public init(name: String, value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// Makes a list of pairs.
    public init(_ pairs: [Pair], references: [ValueReference] = []) {
        self.pairs = pairs
        self.references = references
    }

    /// The value of a property; nil when it was not kept, which is not the same as NULL, and when
    /// it is in ``references``.
    /// - Complexity: O(properties)
    public subscript(name: String) -> Value? { pairs.first { $0.name == name }?.value }

    /// The reference of a property whose value is not sent with the others.
    /// - Complexity: O(references)
    public func reference(_ name: String) -> ValueReference? {
        references.first { $0.property == name }
    }
}

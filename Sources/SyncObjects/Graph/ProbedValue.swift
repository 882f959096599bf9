/// A type that a stored property can have.
protocol ProbedValue {
    /// Sample values that show whether a getter returns what it reads.
    static func samples(_ probe: NameProbe) -> [any Sendable]
    /// The value is that of a property without a value.
    var isNothing: Bool { get }
}

extension Optional: ProbedValue {
    static func samples(_ probe: NameProbe) -> [any Sendable] {
        if let type = Wrapped.self as? ManagedObject.Type {
            return [ProbeSamples.object(of: type, probe: probe)]
        }
        guard let type = Wrapped.self as? any AttributeConvertible.Type else { return [] }
        return ProbeSamples.values(of: type)
    }

    var isNothing: Bool { self == nil }
}

extension Array: ProbedValue where Element: ManagedObject {
    static func samples(_ probe: NameProbe) -> [any Sendable] {
        [
            [
                ProbeSamples.object(of: Element.self, probe: probe),
                ProbeSamples.object(of: Element.self, probe: probe),
            ]
        ]
    }

    var isNothing: Bool { isEmpty }
}

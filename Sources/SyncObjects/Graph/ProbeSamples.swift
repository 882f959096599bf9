import SyncCore

/// Sample values that rounding, trimming, cutting or clamping would change. Large ones come last,
/// so that a computing getter is detected before it could overflow.
enum ProbeSamples {
    private static let text = " Ä b% " + String(repeating: "Zz9", count: 400) + "\n"
    private static let stored: [Value] =
        [0, 1, -1, 7, 1009].map(Value.integer) + (2..<64).map(Value.integer)
        + [0.1, -1.5, 1e-9, 12_345.678].map(Value.real)
        + [
            "", text, "1.5", "-0.001", "2026-01-01 12:00:00.123456789", "1900-02-28 23:59:59",
            "3000-01-01 00:00:00", "0F0F0F0F-1111-4222-8333-444444444444",
            "00000000-0000-4000-8000-000000000000", "https://example.org/A?b=c#d",
        ].map(Value.text)
        + [[], [0, 255], Array(repeating: 7, count: 1200)].map(Value.blob)
        + [16_000, -16_000, 1 << 29, -(1 << 29), 1 << 40, -(1 << 40)].map(Value.integer)
        + [1e15, -1e15].map(Value.real)

    /// Empty for a type without known values.
    static func values<T: AttributeConvertible>(of _: T.Type) -> [any Sendable] {
        if let type = T.self as? any CaseIterable.Type { return cases(type) }
        let coding = AttributeCoding(.any)
        return stored.compactMap { T(stored: $0, coding) }
    }

    private static func cases<T: CaseIterable>(_: T.Type) -> [any Sendable] {
        T.allCases.compactMap { $0 as? any AttributeConvertible }
    }

    static func object(of type: ManagedObject.Type, probe: NameProbe) -> ManagedObject {
        let object = type.makeProbe()
        object.probe = probe
        return object
    }

    static func isEqual(_ left: any Sendable, to right: Any) -> Bool {
        guard let left = left as? any Equatable else { return "\(left)" == "\(right)" }
        return isSame(left, as: right)
    }

    private static func isSame<T: Equatable>(_ left: T, as right: Any) -> Bool {
        (right as? T) == left
    }
}

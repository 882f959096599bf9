import SyncCore

/// A run of objects with one value of the section key.
public struct ResultSection: Sendable, Hashable, Identifiable {
    /// The value of the section key, as text.
    public let name: String
    /// The index of its first object in the array of all objects.
    public let offset: Int
    /// How many objects it has.
    public let count: Int

    /// The name.
    public var id: String { name }

    static func name(_ value: Value) -> String {
        switch value {
        case .null: return ""
        case .integer(let number): return String(number)
        case .real(let number): return String(number)
        case .text(let text): return text
        case .blob: return value.description
        }
    }
}

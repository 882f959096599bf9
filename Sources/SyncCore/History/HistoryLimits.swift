/// Limits of the history that is kept.
public struct HistoryLimits: Sendable, Hashable, Codable {
    /// Transactions older than this may go; nil: none for their age.
    public var age: Duration?
    /// About how many bytes the changes may take; nil: as many as there are.
    public var bytes: Int64?

    /// - Parameters:
    ///   - age: longer than nothing.
    ///   - bytes: more than nothing.
    public init(age: Duration? = nil, bytes: Int64? = nil) {
        self.age = age
        self.bytes = bytes
    }

    /// Nothing is purged automatically.
    public var isEmpty: Bool { age == nil && bytes == nil }
}

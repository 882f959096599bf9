/// Which rows of a database that joins a store are the same objects as rows of the store.
public enum JoinMethod: String, Sendable, Hashable, CaseIterable {
    /// Equal primary keys.
    case byKey = "by-key"
    /// Equal values of a UNIQUE constraint; primary keys that are private numbers are ignored.
    case byUnique = "by-unique"
    /// Only rows with equal primary keys that are no private numbers.
    case separate
}

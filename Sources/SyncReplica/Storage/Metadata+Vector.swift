import SyncCore
import SyncMerge
import SyncStorage

extension Metadata {
    /// A stored vector; empty where there is none.
    /// - Throws: SQLite errors; `badData` for bytes that are no vector.
    func vector(_ key: Key) throws -> VersionVector {
        guard case .blob(let bytes) = try value(key) else { return VersionVector() }
        return try VersionVector(stored: bytes)
    }

    /// Stores a vector.
    /// - Throws: SQLite errors.
    func set(_ key: Key, to vector: VersionVector) throws {
        try set(key, to: .blob(vector.stored))
    }
}

import SyncMerge

/// The objects that rows refer to, by the key of their row: those that are referred to often are
/// looked up once.
///
/// Confined to its connection's queue and to one transaction.
final class StoredTargets {
    private let storage: ReplicaStorage
    private var known: [RowKey: ObjectUID] = [:]
    /// Beyond this they are looked up again.
    private static let knownMax = 10_000

    init(_ storage: ReplicaStorage) { self.storage = storage }

    /// The object of the row of a key; nil: there is none.
    /// - Throws: SQLite errors; `corrupt` for an identity that cannot be read.
    func uid(of key: RowKey) throws -> ObjectUID? {
        if let uid = known[key] { return uid }
        guard let uid = try storage.objects.uid(of: key) else { return nil }
        if known.count >= Self.knownMax { known = [:] }
        known[key] = uid
        return uid
    }
}

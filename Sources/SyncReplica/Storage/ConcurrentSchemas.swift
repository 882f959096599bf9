import SyncMerge
import SyncValues

/// The schema of the store: the newest one that a replica stated, with what others have changed at
/// the same time.
///
/// Two are of the same time where neither replica had merged the other's statement. What one of
/// them has changed is told by a statement that both had seen; of an object that both changed the
/// newer text holds, with the columns that the other one has added
/// (``SchemaContent/joined(with:where:)``). The replicas that stated them state the result
/// (``SchemaRecording``), so that it reaches those that do not know what was before.
struct ConcurrentSchemas {
    private let schemas: SchemaStorage
    private let headers: HeaderStorage

    init(_ schemas: SchemaStorage, headers: HeaderStorage) {
        self.schemas = schemas
        self.headers = headers
    }

    /// The newest statement, with the schema of the store for its content; nil: none is known.
    /// - Throws: SQLite errors; as ``SchemaStorage/all()``.
    /// - Complexity: O(bytes of the schemas)
    func newest() throws -> SchemaRecord? {
        let known = try schemas.all()
        guard var newest = known.newest else { return nil }
        for record in try Self.heads(of: known, isKnown: isKnown(_:to:)).reversed() {
            let base = try self.base(of: record, newest, among: known) ?? [:]
            newest.content = newest.content.stated(over: record.content, since: base)
        }
        return newest
    }

    /// Whether a replica is among those whose newest statements nobody had seen who stated another
    /// one.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas²) where statements are concurrent, else O(replicas)
    func areConcurrent(with replica: ReplicaID) throws -> Bool {
        let known = try schemas.statements()
        let heads = try Self.heads(of: known, isKnown: isKnown(_:to:))
        guard let newest = known.newest, !heads.isEmpty else { return false }
        return (heads + [newest]).contains { $0.dot.replica == replica }
    }

    /// The statements that neither the newest one nor another one of these had seen, the oldest
    /// first.
    private static func heads(
        of known: [SchemaRecord], isKnown: (SchemaRecord, SchemaRecord) throws -> Bool
    ) rethrows -> [SchemaRecord] {
        guard let newest = known.newest else { return [] }
        let unseen = try known.filter {
            guard $0.dot.replica != newest.dot.replica else { return false }
            return try !isKnown($0, newest)
        }
        return try unseen.filter { record in
            try !unseen.contains {
                guard $0.dot.replica != record.dot.replica else { return false }
                return try isKnown(record, $0)
            }
        }.sorted { $0.isOlder(than: $1) }
    }

    /// Whether the replica of a statement had merged another one when it made its own.
    /// - Throws: SQLite errors.
    func isKnown(_ own: SchemaRecord, to other: SchemaRecord) throws -> Bool {
        try isKnown(own.dot, revision: own.revision, to: other)
    }

    /// What was collected is older than all that is merged now: the order of the revisions has to
    /// do.
    private func isKnown(
        _ dot: Dot, revision: Int64, to other: SchemaRecord
    ) throws -> Bool {
        if dot.replica == other.dot.replica { return revision <= other.revision }
        guard let header = try headers.details(other.dot)?.header else {
            return revision < other.revision
        }
        return header.seen.covers(dot)
    }

    /// The marks of the newest statement that the replicas of two others had seen.
    private func base(
        of first: SchemaRecord, _ second: SchemaRecord, among known: [SchemaRecord]
    ) throws -> SchemaMarks? {
        let former = try schemas.former().compactMap { former in
            former.dot.map { ($0, former.revision, former.marks) }
        }
        let present = known.filter { $0 != first && $0.dot != second.dot }
            .map { ($0.dot, $0.revision, $0.content.marks) }
        return try (former + present).filter { dot, revision, _ in
            try isKnown(dot, revision: revision, to: first)
                && isKnown(dot, revision: revision, to: second)
        }.max { ($0.1, $0.0) < ($1.1, $1.0) }?.2
    }
}

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
    /// - Parameter isNew: as a new replica takes it, which does not know what was before.
    /// - Throws: SQLite errors; as ``SchemaStorage/all()``.
    /// - Complexity: O(bytes of the schemas)
    func newest(isNew: Bool = false) throws -> SchemaRecord? {
        let known = try schemas.all()
        guard var newest = known.newest else { return nil }
        for record in try Self.heads(of: known, isKnown: isKnown(_:to:)).reversed() {
            let base = try isNew ? [:] : self.base(of: record, newest, among: known) ?? [:]
            newest.content = newest.content.stated(over: record.content, since: base)
        }
        return newest
    }

    /// Whether another one of the same time as the newest one has a name that this does not have.
    /// - Parameter newest: as ``newest(isNew:)`` has it.
    /// - Throws: SQLite errors; as ``SchemaStorage/all()``.
    /// - Complexity: O(bytes of the schemas)
    func haveOtherNames(than newest: SchemaContent) throws -> Bool {
        try Self.heads(of: try schemas.all(), isKnown: isKnown(_:to:)).contains {
            !$0.content.renamed.isSubset(of: newest.renamed)
        }
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
        try isKnown(Stated(own), to: Stated(other))
    }

    /// What was collected is older than all that is merged now: the order of the revisions has to
    /// do.
    private func isKnown(_ one: Stated, to other: Stated) throws -> Bool {
        if one.dot.replica == other.dot.replica { return one.revision <= other.revision }
        guard let header = try headers.details(other.dot)?.header else {
            return one.revision < other.revision
        }
        return header.seen.covers(one.dot)
    }

    // MARK: What was before

    /// A statement, with the marks of its content.
    private struct Stated {
        let dot: Dot
        let revision: Int64
        var marks: SchemaMarks = [:]

        init(_ record: SchemaRecord) { (dot, revision) = (record.dot, record.revision) }

        init(_ dot: Dot, revision: Int64, marks: SchemaMarks) {
            (self.dot, self.revision, self.marks) = (dot, revision, marks)
        }

        func isSame(as other: Stated) -> Bool { (dot, revision) == (other.dot, other.revision) }

        static func isOlder(_ one: Stated, _ other: Stated) -> Bool {
            (one.revision, one.dot) < (other.revision, other.dot)
        }
    }

    /// The marks of what the replicas of two statements had both seen; nil: nothing that is kept.
    private func base(
        of first: SchemaRecord, _ second: SchemaRecord, among known: [SchemaRecord]
    ) throws -> SchemaMarks? {
        let former = try schemas.former().compactMap { former in
            former.dot.map { Stated($0, revision: former.revision, marks: former.marks) }
        }
        let present = known.filter { $0 != first && $0.dot != second.dot }.map {
            Stated($0.dot, revision: $0.revision, marks: $0.content.marks)
        }
        return try base(of: Stated(first), Stated(second), among: former + present)
    }

    /// Of what both had seen, the newest statement; of several of the same time what they say
    /// together, since what the two of them had seen: what one of those says and another one does
    /// not know yet was not dropped.
    private func base(
        of first: Stated, _ second: Stated, among all: [Stated]
    ) throws -> SchemaMarks? {
        let seen = try all.filter {
            try !$0.isSame(as: first) && !$0.isSame(as: second) && isKnown($0, to: first)
                && isKnown($0, to: second)
        }
        let last = try seen.filter { one in
            try !seen.contains { try !$0.isSame(as: one) && isKnown(one, to: $0) }
        }.sorted { Stated.isOlder($1, $0) }
        guard let newest = last.first else { return seen.max(by: Stated.isOlder)?.marks }
        return try last.dropFirst().reduce(into: newest.marks) { marks, other in
            let before = try base(of: newest, other, among: seen) ?? [:]
            for key in Set(marks.keys).union(other.marks.keys)
            where marks[key] == before[key] {
                marks[key] = other.marks[key]
            }
        }
    }
}

extension SchemaContent {
    /// Each name that is not the identity of what has it: entity, column or nothing, and name.
    fileprivate var renamed: Set<[String]> {
        var renamed: Set<[String]> = []
        for entity in names ?? [] {
            if let name = entity.name, name != entity.entity {
                renamed.insert([entity.entity, "", name])
            }
            for case (let column, let name?) in entity.columns {
                renamed.insert([entity.entity, column, name])
            }
        }
        return renamed
    }
}

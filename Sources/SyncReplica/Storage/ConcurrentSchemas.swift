import SyncMerge
import SyncStorage
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
        var joined = [newest]
        for record in try Self.heads(of: known, isKnown: isKnown(_:to:)).reversed() {
            let base = try isNew ? [:] : self.base(of: record, joined, among: known) ?? [:]
            joined.append(record)
            newest.content = newest.content.stated(over: record.content, since: base)
        }
        return newest
    }

    /// Whether another one of the same time as the newest one has given something a name that this
    /// does not have. In a table that it has not changed it has the names of before.
    /// - Parameter newest: as ``newest(isNew:)`` has it.
    /// - Throws: SQLite errors; as ``SchemaStorage/all()``.
    /// - Complexity: O(bytes of the schemas)
    func haveOtherNames(than newest: SchemaContent) throws -> Bool {
        let known = try schemas.all()
        guard let last = known.newest else { return false }
        let heads = try Self.heads(of: known, isKnown: isKnown(_:to:))
        return try heads.contains { record in
            if record.content.renamed().isSubset(of: newest.renamed()) { return false }
            let others = [last] + heads.filter { $0.dot != record.dot }
            let base = try base(of: record, others, among: known) ?? [:]
            return !record.content.renamed(since: base).isSubset(of: newest.renamed())
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

    /// The marks of what the replica of a statement had seen and one of the replicas of others had
    /// seen, too; nil: nothing that is kept.
    private func base(
        of record: SchemaRecord, _ others: [SchemaRecord], among known: [SchemaRecord]
    ) throws -> SchemaMarks? {
        let former = try schemas.former().compactMap { former in
            former.dot.map { Stated($0, revision: former.revision, marks: former.marks) }
        }
        let present = known.filter { one in
            one.dot != record.dot && !others.contains { $0.dot == one.dot }
        }.map { Stated($0.dot, revision: $0.revision, marks: $0.content.marks) }
        return try base(of: Stated(record), others.map { Stated($0) }, among: former + present)
    }

    /// Of what both sides had seen, the newest statement; of several of the same time what they say
    /// together, since what each of them and those before it had seen: what one of those says and
    /// another one does not know yet was not dropped.
    ///
    /// Several statements that were put together know what each of them knew. By what one of them
    /// had seen with the next one alone, what another one has dropped would be new.
    private func base(
        of statement: Stated, _ others: [Stated], among all: [Stated]
    ) throws -> SchemaMarks? {
        let seen = try all.filter { one in
            if one.isSame(as: statement) || others.contains(where: one.isSame(as:)) { return false }
            guard try isKnown(one, to: statement) else { return false }
            return try others.contains { try isKnown(one, to: $0) }
        }
        let last = try seen.filter { one in
            try !seen.contains { try !$0.isSame(as: one) && isKnown(one, to: $0) }
        }.sorted { Stated.isOlder($1, $0) }
        guard let newest = last.first else { return seen.max(by: Stated.isOlder)?.marks }
        var marks = newest.marks
        for (place, other) in last.enumerated().dropFirst() {
            let before = try base(of: other, Array(last[..<place]), among: seen) ?? [:]
            for key in Set(marks.keys).union(other.marks.keys)
            where marks[key] == before[key] {
                marks[key] = other.marks[key]
            }
        }
        return marks
    }
}

extension SchemaContent {
    /// Each name that is not the identity of what has it: entity, column or nothing, and name.
    /// - Parameter base: the marks of a schema: tables that are as there are left out; nil: none.
    fileprivate func renamed(since base: SchemaMarks? = nil) -> Set<[String]> {
        var kept: Set<String> = []
        if let base {
            let edited = Set(self.changed(since: base))
            kept = Set(objects.filter { !edited.contains($0) }.map { SQLName.folded($0.name) })
        }
        var renamed: Set<[String]> = []
        for entity in names ?? [] {
            if let name = entity.name, kept.contains(SQLName.folded(name)) { continue }
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

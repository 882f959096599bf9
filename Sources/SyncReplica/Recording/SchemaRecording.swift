import SyncMerge
import SyncValues

/// States a change of this replica's schema to the others.
///
/// A statement is sent with a transaction of this replica: one that is written with it, or else one
/// without changes. So vectors say who knows it, like facts, and other replicas forward it.
///
/// Invariants
/// - What this replica states is its schema, and of the store's what it did not change itself
///   (``SchemaContent/merged(with:since:)``): objects that are refused, or not applied yet, stay.
/// - What two replicas stated at the same time each of them states as one, when it has both.
/// - A schema that is the newest already is not stated a second time; nor is that of a
///   database that joined a store, or of a new replica, before it changes.
struct SchemaRecording {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var own: ReplicaID { transaction.identity.replica }
    private var schemas: SchemaStorage { storage.schemas }

    /// States the schema where it has changed since it was last looked at.
    /// - Throws: SQLite errors.
    /// - Complexity: O(schema)
    func record() throws {
        var present = try PresentSchema(transaction.database).content()
        present.names = storage.schema.names.stated(
            with: present.objects.filter(\.isTracked).map(\.name))
        let marks = present.marks
        let seen = try schemas.seen()
        guard seen != marks else { return }
        try schemas.setSeen(marks)
        if let seen { return seen.isEmpty ? () : try state(present, since: seen) }
        let known = try schemas.all()
        guard try known.isEmpty && transaction.settings.value(.joined) == .null else { return }
        try write(present, at: Dot(own, try newestOwn()), revision: 1)
    }

    private func state(_ present: SchemaContent, since seen: SchemaMarks) throws {
        let newest = try storage.concurrentSchemas.newest()
        try state(newest.map { present.stated(with: $0.content, since: seen) } ?? present)
    }

    /// States what this replica and others stated at the same time as one. It has seen all of them,
    /// and replicas that merge the same ones state the same: the exchange ends.
    ///
    /// Where that is what the newest of them says, its replica alone states it again, with a
    /// transaction that has seen all: others do not know what was before each of them, and could
    /// not tell what one has dropped from what another one has made. Where another one has a name
    /// that the newest does not have, it does so only if a new replica would come to something
    /// else: a later statement would take that name from its owner, who has to be asked.
    /// - Throws: SQLite errors.
    /// - Complexity: O(replicas), and O(schemas) where there are such.
    func mergeConcurrent() throws {
        let concurrent = storage.concurrentSchemas
        guard try concurrent.areConcurrent(with: own), let newest = try concurrent.newest() else {
            return
        }
        let isPlain =
            try newest.dot.replica != own
            || concurrent.haveOtherNames(than: newest.content)
                && concurrent.newest(isNew: true)?.content.hash == newest.content.hash
        try state(newest.content, again: !isPlain)
    }

    /// What an older one has is stated again: a change that was taken back is a change.
    /// - Parameter again: also what the newest statement says already.
    private func state(_ content: SchemaContent, again: Bool = false) throws {
        let newest = try schemas.all().newest
        if !again, newest?.content.hash == content.hash { return }
        try write(content, at: try carrier(), revision: (newest?.revision ?? 0) + 1)
    }

    private func write(_ content: SchemaContent, at dot: Dot, revision: Int64) throws {
        guard content.encoded.count <= SchemaContent.bytesMax else { return }
        try schemas.write(
            SchemaRecord(
                dot, revision: revision, time: transaction.environment.wall(), content: content),
            newestSent: try transaction.newestSent())
    }

    private func newestOwn() throws -> Int64 { try storage.headers.vector()[own] }

    /// A transaction of this replica that no other one has, and that has seen what is merged here:
    /// it says which statements were known.
    ///
    /// What was committed before, and not sent, a copy of the file may have: its vector would say
    /// that it knows this statement.
    private func carrier() throws -> Dot {
        let newest = try Dot(own, newestOwn())
        let known = try schemas.statements().filter { $0.dot.replica != own }
        if transaction.hasAppended(newest),
            let seen = try storage.headers.details(newest)?.header.seen,
            known.allSatisfy({ seen.covers($0.dot) })
        {
            return newest
        }
        let (dot, time) = transaction.nextTransaction()
        let header = TransactionHeader(dot, time: time, seen: try storage.headers.vector())
        let entry = Batch.Transaction(header, context: Self.context)
        try transaction.append(entry)
        let history = MergedHistory(
            schema: storage.schema, history: storage.history, replica: own,
            wall: transaction.environment.wall(), before: { _ in nil }, after: { _ in nil })
        try history.write([entry], differences: [:])
        return dot
    }

    /// The context of such a transaction in history.
    private static let context = "schema"
}

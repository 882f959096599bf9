import SyncCore
import SyncMerge
import SyncValues

/// Closes all conflicts: every open repair becomes facts.
///
/// Invariant: the tables do not change.
struct ConflictClosing {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    /// Closes all conflicts.
    /// - Parameters:
    ///   - author: the author of the decision, for history.
    ///   - isDeletingHidden: whether living rows that are not shown are deleted, on all replicas.
    /// - Throws: `refused` when there are such rows and they are not to be deleted;
    ///   `storeDamaged` when the tables do not show what is recorded; `internalFault` when they
    ///   would change; SQLite errors.
    /// - Complexity: O(rows and facts of the store), in memory.
    func closeAll(author: String?, isDeletingHidden: Bool) throws {
        let (dot, time) = transaction.nextTransaction()
        let region = try RegionLoader.whole(in: storage)
        let view = View(region.state)
        if !isDeletingHidden { try requireNoneHidden(view, in: region.state) }
        let closed = try region.state.close(
            view: view, names: region.names, dot: dot, time: time)
        let entry = Batch.Transaction(closed.header, author: author, context: Self.context)
        try transaction.append(entry)
        let image = try storage.image(of: closed.view, in: region)
        guard image.rows == region.rows else {
            try requireShown(view, in: region)
            throw SyncError(.internalFault, "closing the conflicts would change the tables")
        }
        let history = MergedHistory(
            schema: storage.schema, history: storage.history,
            replica: transaction.identity.replica, wall: transaction.environment.wall(),
            before: { _ in nil }, after: { _ in nil })
        try history.write([entry], differences: [:])
        var keys: [ObjectUID: [Value]] = [:]
        for (key, name) in image.names { keys[name] = key.values }
        try RegionUpdate(transaction).store(
            region, state: closed.state, view: closed.view, keys: keys)
        try RegionUpdate(transaction).renumber(after: closed.view)
        try acceptOverridden(by: closed.view, author: author)
    }

    /// The tables show what is recorded, unless another program has written the tables of syncd.
    private func requireShown(_ view: View, in region: AffectedRegion) throws {
        guard try storage.image(of: view, in: region).rows != region.rows else { return }
        throw SyncError(
            .storeDamaged, "the tables do not show what is recorded of them",
            hint: "Run: synctool doctor DB --mend")
    }

    /// To confirm what is shown would delete rows that a constraint keeps out of the tables of this
    /// database: perhaps of this one alone.
    private func requireNoneHidden(_ view: View, in state: MergeState) throws {
        let hidden = state.objects.filter { uid, record in
            view.shownAs[uid] == nil && !record.life.isEmpty && state.isAlive(record)
        }.keys.sorted()
        guard !hidden.isEmpty else { return }
        let reader = ConflictReader(storage)
        let named = try hidden.prefix(Self.namedMax).map { uid in
            let name = state.schema.entities[state.objects[uid]?.entity ?? 0].name
            guard let key = try reader.lastKey(of: uid) else { return name }
            return "\(name)/\(ObjectKey(key))".printable(countMax: 80)
        }.joined(separator: ", ")
        let more = hidden.count > Self.namedMax ? " and \(hidden.count - Self.namedMax) more" : ""
        throw SyncError(
            .refused,
            "it would delete rows that are not shown here, on all replicas: \(named)\(more)",
            hint: "Decide about them one by one: synctool conflicts DB. To delete them: "
                + "synctool conflicts DB --settle --delete-hidden")
    }

    private static let namedMax = 10

    /// What a newer value overrides is no repair: it is closed by a write that has seen it.
    private func acceptOverridden(by view: View, author: String?) throws {
        guard !view.conflicts.isEmpty else { return }
        let isWhole = try storage.isWhole()
        let recording = AuthoredRecording(transaction, author: author, context: Self.context)
        try recording.record(about: try recording.disputedObjects()) { recorder, view in
            var view = view
            for _ in 0..<CommitFixpoint.checksMax where !view.conflicts.isEmpty {
                for id in view.conflicts.keys.sorted() {
                    recorder.accept(id, in: view, isWhole: isWhole)
                }
                view = View(recorder.state)
            }
        }
    }

    /// The context of both transactions in history.
    private static let context = "settle"
}

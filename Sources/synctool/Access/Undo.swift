import SyncCore
import SyncReplica

/// What `revert` or `restore` did, and the conflicts that it has closed: what they write is newer
/// than both sides.
struct Undo {
    let report: UndoReport
    /// Open before, and not open any more.
    private(set) var closed: [ConflictRecord] = []
    /// The names of the replicas that they are with.
    private(set) var names = KnownNames()

    /// - Parameter path: as the user typed it.
    /// - Throws: as ``LocalStore/with(_:_:)``.
    init(_ path: String, _ undo: (Store) throws -> UndoReport) throws {
        var open: [ConflictRecord]?
        report = try LocalStore.with(path) { store in
            open = try Self.looked(path) { try $0.conflicts() }
            return try undo(store)
        }
        guard let open, !open.isEmpty, !report.steps.isEmpty else { return }
        let left = try Self.looked(path) { replica in
            (Set(try replica.conflicts().map(\.id)), try replica.replicaNames())
        }
        guard let left else { return }
        closed = open.filter { !left.0.contains($0.id) }
        names = left.1
    }

    /// Reads conflicts; nil, and a line on standard error, where that fails: it does not stop an
    /// undo, and does not hide one.
    private static func looked<Result>(
        _ path: String, _ body: (StoreReplica) throws -> Result
    ) throws -> Result? {
        do {
            let replica = try StoreReplica(StorePath.absolute(path))
            defer { try? replica.close() }
            return try body(replica)
        } catch let error as SyncError {
            try Terminal.error.line(
                "\(path): it is not known whether conflicts are closed: "
                    + TypedPath(path).fillingIn(error.reason))
            return nil
        }
    }
}

import SyncRemotes
import SyncReplica
import SyncStorage

/// Exchanges one store with its remotes. Calls block on the store: use a ``BlockingExecutor``.
struct ReplicationWork: Sendable {
    /// The path of the database, with symbolic links resolved.
    let path: String
    /// Remembers that the store is being opened or read; nil for the daemon's own. Not that it is
    /// in an exchange: most of that is waiting, in which other stores may end the daemon.
    let marks: CrashMarks?

    /// How often merge records that no replica needs any more are deleted.
    private static let collectionInterval: Duration = .seconds(86_400)

    /// The store's remotes and its replica identifier.
    /// - Parameter configured: the remotes that the configuration names for the path.
    /// - Throws: what opening and reading the store throws; `storeReplaced` when another file is at
    ///   the path by then.
    func remotes(configured: [RemoteEntry]) async throws -> FoundRemotes {
        try marked {
            let store = try Store.open(path, isResolved: true)
            defer { try? store.close() }
            // After the file was opened: the answer is about this one, and no other.
            guard let ownership = FileOwnership(of: path), ownership.file == store.file else {
                throw isReplaced
            }
            return FoundRemotes(
                configured: configured, inFile: try store.remotes(), ownership: ownership,
                isConfidential: try store.isConfidential(), replica: store.replica,
                unsent: try store.unsent())
        }
    }

    private func marked<Result>(_ body: () throws -> Result) throws -> Result {
        try marks.map { try $0.working(on: path, body) } ?? body()
    }

    /// Pulls from a remote, then pushes to it.
    /// - Parameter file: what has to be at the path: the file for which the remote was chosen.
    /// - Throws: what the exchange throws; `storeReplaced` when another file is at the path;
    ///   `notAllowed` when a key is missing, after everything that is readable without it has been
    ///   merged.
    func exchange(_ entry: RemoteEntry, of file: FileIdentity) async throws -> ExchangeReport {
        let replica = try marked { try StoreReplica(path, isResolved: true) }
        defer { try? replica.close() }
        guard replica.file == file else { throw isReplaced }
        return try await replica.exchange(
            .sync, with: entry, ring: try replica.keyRing(),
            completed: { _ in try marked { try collect(replica) } })
    }

    private func collect(_ replica: StoreReplica) throws {
        do {
            try replica.collect(every: Self.collectionInterval)
        } catch let error as SyncError where error.code == .busy {
            // Deferred until after the next exchange.
        }
    }

    private var isReplaced: SyncError {
        SyncError(
            .storeReplaced, "the file was replaced by another one", path: path, hint: "Try again")
    }
}

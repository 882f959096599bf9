import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The connection on which a store is merged. Foreign keys are off on it: what a merge writes holds
/// them in the end, and no action may fire in between.
///
/// `@unchecked Sendable`: `session` is made and touched inside the blocks of `queue` only, which
/// run one at a time.
final class MergeConnection: @unchecked Sendable {
    private let queue: DatabaseQueue
    private let identity: StoreIdentity
    private let environment: MergeEnvironment
    private var session: MergeSession?

    init(_ queue: DatabaseQueue, _ identity: StoreIdentity, _ environment: MergeEnvironment) {
        self.queue = queue
        self.identity = identity
        self.environment = environment
    }

    /// Runs `body` on the connection's queue.
    func withSession<Result>(_ body: (MergeSession) throws -> Result) throws -> Result {
        do {
            return try queue.writeWithoutTransaction { database in
                if let session { return try body(session) }
                var tracker = Tracker(queue)
                tracker.wall = environment.wall
                let session = try MergeSession(database, tracker, identity, environment)
                self.session = session
                return try body(session)
            }
        } catch {
            throw SyncError.wrapping(error)
        }
    }

    /// Finalizes the statements and closes the connection.
    func close() throws {
        queue.writeWithoutTransaction { _ in session = nil }
        try queue.close()
    }
}

/// What a merge needs of the world around it.
struct MergeEnvironment: Sendable {
    /// Where the commits end that are still in the log; asked while writers are held up.
    var boundaries: @Sendable () throws -> [Boundary]
    /// Milliseconds since 1970.
    var wall: @Sendable () -> Int64
    /// How far a peer's clock may be ahead before it is contained.
    var driftMax = HybridClock.driftMax
    /// Whether every step is checked against the whole store: for simulations.
    var isVerifying = false
}

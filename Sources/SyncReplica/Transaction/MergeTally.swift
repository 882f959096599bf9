import Synchronization

/// How much a replica has recorded and merged since it was opened, and in which way.
public struct MergeTally: Sendable, Hashable {
    /// Objects that the first statement stored row by row.
    public fileprivate(set) var plainObjects = 0
    /// Those of them that it stored without having the log in memory.
    public fileprivate(set) var windowedObjects = 0
    /// Objects of rows that this replica's writers inserted or updated, stated without a region.
    public fileprivate(set) var statedObjects = 0
    /// Recordings of such transactions that needed a region, by the first reason.
    public fileprivate(set) var statementRefusals: [String: Int] = [:]
    /// Objects that were computed with a region and a view, and stored because they had changed.
    public fileprivate(set) var regionObjects = 0
    /// Why first statements needed a view of all rows, by reason.
    public fileprivate(set) var obstacles: [String: Int] = [:]
    /// What the rules of the fast lane decided, where they were applied.
    package fileprivate(set) var lane = LaneTally()
    /// Objects that were merged without a region.
    public fileprivate(set) var laneObjects = 0
    /// Objects that the fast lane has left to the general one, by the first reason.
    public fileprivate(set) var laneRefusals: [String: Int] = [:]
    /// Write transactions; a large batch is merged in several.
    public fileprivate(set) var transactionCount = 0
    /// The longest of them, from the lock to the end of the commit.
    public fileprivate(set) var longestTransaction = Duration.zero
}

/// Counts for a ``MergeTally``. Thread-safe.
final class TallyCounter: Sendable {
    private let state = Mutex(MergeTally())

    /// What was counted.
    var tally: MergeTally { state.withLock { $0 } }

    func count(plain count: Int) { state.withLock { $0.plainObjects += count } }

    /// Counts objects that the first statement has stored in windows.
    func count(windowed count: Int) {
        state.withLock {
            $0.plainObjects += count
            $0.windowedObjects += count
        }
    }

    func count(region count: Int) { state.withLock { $0.regionObjects += count } }

    func count(obstacle: String) {
        state.withLock { $0.obstacles[obstacle, default: 0] += 1 }
    }

    /// Counts objects that the local lane has stated.
    func count(stated objects: Int) { state.withLock { $0.statedObjects += objects } }

    /// Counts transactions that the local lane refuses.
    func count(unstated reason: String) {
        state.withLock { $0.statementRefusals[reason, default: 0] += 1 }
    }

    /// Counts objects that the fast lane has merged.
    func count(lane objects: Int) { state.withLock { $0.laneObjects += objects } }

    /// Counts objects that the fast lane leaves to the general one, by reason.
    func count(refused objects: [String: Int]) {
        guard !objects.isEmpty else { return }
        state.withLock { $0.laneRefusals.merge(objects, uniquingKeysWith: +) }
    }

    func count(lane tally: LaneTally) { state.withLock { $0.lane.add(tally) } }

    func count(transaction duration: Duration) {
        state.withLock { tally in
            tally.transactionCount += 1
            tally.longestTransaction = max(tally.longestTransaction, duration)
        }
    }
}

import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// A replica whose newest transaction is from the future: its clock was wrong, or the one here is.
package struct ClockLead: Sendable, Hashable {
    /// The replica.
    package let replica: ReplicaID
    /// Whether it is this one.
    package let isOwn: Bool
    /// How far it is ahead of the clock here.
    package let ahead: Duration
}

extension Store {
    /// The replicas whose newest transaction here has a time that is further ahead than a clock is
    /// followed (``HybridClock/driftMax``). What they wrote is merged; it wins against concurrent
    /// changes until the clocks here have come to that time.
    /// - Parameter now: wall time.
    /// - Throws: ``SyncError``: `notTracked` and what opening throws.
    /// - Complexity: O(replicas)
    package static func clocksAhead(
        _ path: String, at now: Timestamp = .now()
    ) throws -> [ClockLead] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.explaining("compare") {
            try store.reading.read { reader in
                let connection = reader.connection
                guard try ReplicationTables.exist(connection) else { return [] }
                let select = try Statement(
                    """
                    SELECT r.replica, h.time FROM syncd_replica r
                    JOIN syncd_header h ON h.replica = r.id AND h.number = r.merged ORDER BY r.id
                    """, on: connection)
                var leads: [ClockLead] = []
                while try select.step() {
                    guard let replica: ReplicaID = select.identifier(0) else { continue }
                    let time = HybridTime(rawValue: UInt64(bitPattern: select.integer(1)))
                    let ahead = time.milliseconds - max(0, min(now.milliseconds, 1 << 50))
                    guard ahead > HybridClock.driftMax.milliseconds else { continue }
                    leads.append(
                        ClockLead(
                            replica: replica, isOwn: replica == store.replica,
                            ahead: .milliseconds(ahead)))
                }
                return leads
            }
        }
    }
}

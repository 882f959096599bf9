import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The last comparison of a store with another replica.
public struct ReplicaComparison: Sendable, Hashable {
    /// The other replica.
    public let replica: ReplicaID
    /// When it was compared.
    public let time: Timestamp
    /// How many moments were compared in all.
    public let count: Int64
    /// The names of the tables that differed; empty: the replicas were equal.
    public let entities: [String]
    /// The names of those that could not be compared: only one of the replicas had the table, or
    /// it had other columns there.
    public let uncompared: [String]
    /// Whether no table could be compared.
    public let isNone: Bool
    /// Whether the replica has been away for longer than its lease since.
    let isAbsent: Bool

    /// Whether the replicas were equal, in the tables that could be compared.
    public var isEqual: Bool { entities.isEmpty && !isNone }

    /// What is wrong, as a sentence; nil when the replicas were equal, or when the other one has
    /// been away for longer than its lease.
    public var problem: String? {
        entities.isEmpty || isAbsent
            ? nil : StateDifference(replica: replica, entities: entities).problem
    }
}

extension Store {
    /// The last comparison with each other replica, in the order in which they became known.
    /// - Throws: ``SyncError``: SQLite errors.
    package func comparisons() throws -> [ReplicaComparison] {
        try explaining("status") {
            try reading.read { try ComparisonRows.all($0.connection) }
        }
    }

    /// The same of a file.
    /// - Throws: as ``Store/open(_:)`` and ``comparisons()``.
    package static func comparisons(_ path: String) throws -> [ReplicaComparison] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.comparisons()
    }
}

/// The rows of `syncd_met`, with the names of the replicas.
private enum ComparisonRows {
    static func all(_ connection: OpaquePointer) throws -> [ReplicaComparison] {
        guard try SchemaReader.hasTable("syncd_met", on: connection),
            try ReplicationTables.exist(connection)
        else { return [] }
        let select = try Statement(
            """
            SELECT r.replica, m.time, m.count, m.entities, p.behind, m.at FROM syncd_met m
            JOIN syncd_replica r ON r.id = m.replica
            LEFT JOIN syncd_peer p ON p.replica = m.replica ORDER BY r.id
            """, on: connection)
        let now = try StoreClock(Metadata(connection))
            .observed(at: Timestamp.now().milliseconds).time
        let uncompared = try UncomparedTables(connection)
        var rows: [ReplicaComparison] = []
        while try select.step() {
            guard let replica: ReplicaID = select.identifier(0) else { continue }
            let names = Data((select.text(3) ?? "[]").utf8)
            let left = uncompared.tables(of: replica, at: select.blob(5) ?? [])
            let peer = PeerStorage.Peer(replica: replica, behindSince: select.integerOrNil(4))
            rows.append(
                ReplicaComparison(
                    replica: replica, time: Timestamp(milliseconds: select.integer(1)),
                    count: select.integer(2),
                    entities: try JSONDecoder().decode([String].self, from: names),
                    uncompared: left.names, isNone: left.isAll,
                    isAbsent: peer.isAbsent(at: now, lease: StoreReplica.lease.milliseconds)))
        }
        return rows
    }
}

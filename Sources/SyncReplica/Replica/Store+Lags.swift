import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// What another replica of the store has not acknowledged.
package struct PeerLag: Sendable, Hashable {
    /// The replica.
    package let replica: ReplicaID
    /// How many transactions of others that are merged here it has not merged, as far as it is
    /// known; of those that were collected one at least.
    package let behind: Int64
    /// Since when it has lacked something and acknowledged nothing new; nil: it has everything.
    package let behindSince: Timestamp?
    /// Whether it has been away for longer than its lease: collecting does not wait for it.
    package let isAbsent: Bool
}

extension Store {
    /// What each other replica is known to lack, the one that lacks most first. Transactions of
    /// this replica count once an exchange has recorded them.
    /// - Throws: ``SyncError``: SQLite errors; `badData` for vectors that cannot be read.
    /// - Complexity: O(replicas², and what they lack)
    package func peerLags() throws -> [PeerLag] {
        try explaining("status") {
            try reading.read { reader in
                let connection = reader.connection
                guard try ReplicationTables.exist(connection),
                    try SchemaReader.hasTable("syncd_peer", on: connection)
                else { return [] }
                let names = try ReplicaNames(connection)
                let headers = try HeaderStorage(connection, replicas: names)
                let own = try headers.vector()
                let now = try StoreClock(Metadata(connection))
                    .observed(at: Timestamp.now().milliseconds).time
                return try PeerStorage(connection, replicas: names).all().values.map { peer in
                    let behind = try Self.missing(of: own, at: peer, by: headers)
                    return PeerLag(
                        replica: peer.replica, behind: behind,
                        behindSince: behind == 0
                            ? nil : peer.behindSince.map { Timestamp(milliseconds: $0) },
                        isAbsent: peer.isAbsent(at: now, lease: StoreReplica.lease.milliseconds))
                }.sorted { ($1.behind, $0.replica) < ($0.behind, $1.replica) }
            }
        }
    }

    /// The same of a file.
    /// - Throws: as ``Store/open(_:)`` and ``peerLags()``.
    package static func peerLags(_ path: String) throws -> [PeerLag] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.peerLags()
    }

    /// Transactions do not have successive numbers: those with headers are counted. Its own ones
    /// a replica has, whatever it has acknowledged.
    private static func missing(
        of whole: VersionVector, at peer: PeerStorage.Peer, by headers: HeaderStorage
    ) throws -> Int64 {
        var count: Int64 = 0
        for newest in whole.entries where newest.replica != peer.replica {
            let merged = peer.merged[newest.replica]
            guard newest.number > merged else { continue }
            count += max(1, try headers.count(of: newest.replica, after: merged))
        }
        return count
    }

    /// How many conflicts of merges are open.
    /// - Throws: ``SyncError``: SQLite errors.
    /// - Complexity: O(open conflicts)
    package func openConflictCount() throws -> Int64 {
        try explaining("status") {
            try reading.read { reader in
                guard try SchemaReader.hasTable("syncd_conflict", on: reader.connection) else {
                    return 0
                }
                let select = try Statement(
                    "SELECT count(*) FROM syncd_conflict WHERE closed IS NULL",
                    on: reader.connection)
                return try select.step() ? select.integer(0) : 0
            }
        }
    }

    /// The same of a file.
    /// - Throws: as ``Store/open(_:)`` and ``openConflictCount()``.
    package static func openConflictCount(_ path: String) throws -> Int64 {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        return try store.openConflictCount()
    }
}

import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_peer`: what the other replicas of the store are known to have merged.
///
/// Confined to its connection's queue.
struct PeerStorage {
    /// Another replica.
    struct Peer: Hashable {
        let replica: ReplicaID
        /// What it has merged; of its own transactions at most those that are here.
        var merged = VersionVector()
        /// Since when it has lacked something and acknowledged nothing new, milliseconds since
        /// 1970; nil: it has everything.
        var behindSince: Int64?

        /// Whether it has been away for longer than a lease, in milliseconds: collecting does not
        /// wait for it any more.
        func isAbsent(at now: Int64, lease: Int64) -> Bool {
            guard let behindSince else { return false }
            let (time, isBeyond) = now.subtractingReportingOverflow(behindSince)
            return isBeyond ? behindSince < now : time > lease
        }
    }

    /// How long a replica may be away before collecting does not wait for it.
    static let lease: Duration = .seconds(30 * 86_400)

    private let replicas: ReplicaNames
    private let selectAll: Statement
    private let upsert: Statement

    init(_ connection: OpaquePointer, replicas: ReplicaNames) throws {
        self.replicas = replicas
        selectAll = try Statement(
            "SELECT replica, merged, behind FROM syncd_peer ORDER BY replica", on: connection)
        upsert = try Statement(
            """
            INSERT INTO syncd_peer(replica, merged, behind) VALUES (?1, ?2, ?3)
            ON CONFLICT(replica) DO UPDATE SET merged = excluded.merged, behind = excluded.behind
            """, on: connection)
    }

    /// All known replicas but this one.
    /// - Throws: SQLite errors; `badData`, `corrupt` for rows that cannot be read.
    /// - Complexity: O(replicas)
    func all() throws -> [ReplicaID: Peer] {
        var peers: [ReplicaID: Peer] = [:]
        while try selectAll.step() {
            let replica = try replicas.name(of: selectAll.integer(0))
            peers[replica] = Peer(
                replica: replica, merged: try VersionVector(stored: selectAll.blob(1)),
                behindSince: selectAll.integerOrNil(2))
        }
        return peers
    }

    /// Stores what is known of a replica.
    /// - Throws: SQLite errors.
    func write(_ peer: Peer) throws {
        upsert.bind(try replicas.number(of: peer.replica), at: 1)
        upsert.bind(peer.merged.stored, at: 2)
        upsert.bind(peer.behindSince.map(Value.integer) ?? .null, at: 3)
        try upsert.run()
    }
}

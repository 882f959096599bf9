import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_signer` and `syncd_anchor`: the replicas whose transactions are signed, their chains, and
/// links that they have signed.
///
/// Invariants
/// - The key and *first* of a replica never change.
/// - With a known link there is an anchor at it, or a pending proof that leads from it to one; of
///   this replica at what was sent.
/// - Of each replica every header above the base is stored.
///
/// Confined to its connection's queue.
final class SignerStorage {
    private let connection: OpaquePointer
    private let selectAll: Statement
    private let upsert: Statement
    private let move: Statement
    private let insertAnchor: Statement
    private let anchorAfter: Statement
    private let anchorBefore: Statement

    /// Anchors of a replica of which none is dropped: the newest ones.
    private static let anchorsMin = 64
    /// Older anchors are dropped while the numbers between their neighbours are fewer than this.
    private static let spacing: Int64 = 8_192

    init(_ connection: OpaquePointer) throws {
        self.connection = connection
        selectAll = try Statement(
            """
            SELECT replica, key, first, base, base_hash, number, hash, pending, secret, removed
            FROM syncd_signer ORDER BY replica
            """, on: connection)
        upsert = try Statement(
            "INSERT OR REPLACE INTO syncd_signer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            on: connection)
        move = try Statement(
            "UPDATE syncd_signer SET number = ?2, hash = ?3 WHERE replica = ?1", on: connection)
        insertAnchor = try Statement(
            "INSERT OR IGNORE INTO syncd_anchor VALUES (?1, ?2, ?3, ?4)", on: connection)
        anchorAfter = try Statement(
            """
            SELECT number, hash, signature FROM syncd_anchor WHERE replica = ?1 AND number >= ?2
            ORDER BY number LIMIT 1
            """, on: connection)
        anchorBefore = try Statement(
            """
            SELECT number, hash, signature FROM syncd_anchor WHERE replica = ?1 AND number <= ?2
            ORDER BY number DESC LIMIT 1
            """, on: connection)
    }

    /// All known signers.
    /// - Throws: as every method here: SQLite errors; `corrupt`, `badData` for rows that cannot be
    ///   read.
    /// - Complexity: O(replicas)
    func all() throws -> [ReplicaID: Signer] {
        var signers: [ReplicaID: Signer] = [:]
        defer { selectAll.reset() }
        while try selectAll.step() {
            let signer = try signer(selectAll)
            signers[signer.replica] = signer
        }
        return signers
    }

    private func signer(_ row: Statement) throws -> Signer {
        guard let replica: ReplicaID = row.identifier(0),
            let key = VerifyingKey(bytes: row.blob(1) ?? []),
            let base = ChainLink(number: row.integer(3), hash: row.blob(4) ?? [])
        else { throw SyncError(.corrupt, "the table syncd_signer has a row that is no key") }
        return Signer(
            replica: replica, key: key, first: row.integer(2), base: base,
            link: row.blob(6).flatMap { ChainLink(number: row.integer(5), hash: $0) },
            pending: try row.blob(7).map { try PendingProof(stored: $0) },
            secret: row.blob(8).flatMap(SigningKey.init(bytes:)), isRemoved: row.integer(9) != 0)
    }

    /// Stores what is known of a replica.
    func write(_ signer: Signer) throws {
        func blob(_ bytes: [UInt8]?) -> Value { bytes.map(Value.blob) ?? .null }
        try upsert.run(
            .blob(signer.replica.bytes), .blob(signer.key.bytes), .integer(signer.first),
            .integer(signer.base.number), .blob(signer.base.hash),
            signer.link.map { .integer($0.number) } ?? .null, blob(signer.link?.hash),
            blob(signer.pending?.stored), blob(signer.secret?.bytes),
            .integer(signer.isRemoved ? 1 : 0))
    }

    /// Stores that more is merged of a replica, of which all else stays.
    func advance(_ replica: ReplicaID, to link: ChainLink) throws {
        try move.run(.blob(replica.bytes), .integer(link.number), .blob(link.hash))
    }

    /// Forgets a replica that nothing was ever sent of.
    func remove(_ replica: ReplicaID) throws {
        try Statement("DELETE FROM syncd_signer WHERE replica = ?1", on: connection)
            .run(.blob(replica.bytes))
    }

    // MARK: Anchors

    /// The first anchor of a replica at a number or after it.
    func anchor(of replica: ReplicaID, from number: Int64) throws -> Anchor? {
        try anchor(anchorAfter, replica, number)
    }

    /// The last anchor of a replica at a number or before it.
    func anchor(of replica: ReplicaID, upTo number: Int64) throws -> Anchor? {
        try anchor(anchorBefore, replica, number)
    }

    private func anchor(
        _ select: Statement, _ replica: ReplicaID, _ number: Int64
    ) throws -> Anchor? {
        select.bind(replica.bytes, at: 1)
        select.bind(number, at: 2)
        defer { select.reset() }
        guard try select.step() else { return nil }
        guard let link = ChainLink(number: select.integer(0), hash: select.blob(1) ?? []),
            let signature = Signature(bytes: select.blob(2) ?? [])
        else { throw SyncError(.corrupt, "the table syncd_anchor has a row that is no anchor") }
        return Anchor(link: link, signature: signature)
    }

    /// Stores an anchor, and drops older ones that are close to each other: a proof is never
    /// longer than their distance.
    func keep(_ anchor: Anchor, of replica: ReplicaID) throws {
        try insertAnchor.run(
            .blob(replica.bytes), .integer(anchor.link.number), .blob(anchor.link.hash),
            .blob(anchor.signature.bytes))
        try Statement(
            """
            DELETE FROM syncd_anchor WHERE replica = ?1 AND number = (
              SELECT middle FROM (
                SELECT number AS middle, lag(number) OVER w AS before, lead(number) OVER w AS after
                FROM (SELECT number FROM syncd_anchor WHERE replica = ?1
                      ORDER BY number DESC LIMIT 3 OFFSET ?2)
                WINDOW w AS (ORDER BY number))
              WHERE after - before < ?3)
            """, on: connection
        ).run(
            .blob(replica.bytes), .integer(Int64(Self.anchorsMin)), .integer(Self.spacing))
    }

    /// Drops the anchors of a replica after a number: their transactions were renamed.
    func dropAnchors(of replica: ReplicaID, after number: Int64) throws {
        try Statement("DELETE FROM syncd_anchor WHERE replica = ?1 AND number > ?2", on: connection)
            .run(.blob(replica.bytes), .integer(number))
    }
}

import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_doubt`: facts that a snapshot with gaps leaves out and that are still shown, until the
/// other members confirm that they do not hold them either.
///
/// Statements are prepared when they are used. Confined to its connection's queue.
struct DoubtStorage {
    /// By object and transaction: the replicas whose snapshots leave it out.
    typealias Doubts = [ObjectUID: [Dot: Set<ReplicaID>]]

    private let connection: OpaquePointer
    private let replicas: ReplicaNames

    init(_ connection: OpaquePointer, replicas: ReplicaNames) {
        self.connection = connection
        self.replicas = replicas
    }

    /// All doubts.
    /// - Throws: SQLite errors; `corrupt` for rows that cannot be read.
    /// - Complexity: O(doubts)
    func all() throws -> Doubts {
        let select = try Statement(
            "SELECT uid, replica, number, confirmed FROM syncd_doubt", on: connection)
        var doubts: Doubts = [:]
        while try select.step() {
            guard let uid: ObjectUID = select.identifier(0) else {
                throw SyncError(.corrupt, "an identity in syncd_doubt does not have 16 bytes")
            }
            let dot = Dot(try replicas.name(of: select.integer(1)), select.integer(2))
            var reader = ByteReader(select.blob(3) ?? [])
            var confirmed: Set<ReplicaID> = []
            while !reader.isAtEnd {
                confirmed.insert(try reader.identifier(ReplicaID.self))
            }
            doubts[uid, default: [:]][dot] = confirmed
        }
        return doubts
    }

    /// Whether there are none.
    /// - Throws: SQLite errors.
    var isEmpty: Bool {
        get throws { try !Statement("SELECT 1 FROM syncd_doubt LIMIT 1", on: connection).step() }
    }

    /// Replaces all doubts.
    /// - Throws: SQLite errors.
    /// - Complexity: O(doubts)
    func replace(with doubts: Doubts) throws {
        try RawTransaction.execute("DELETE FROM syncd_doubt", on: connection)
        let insert = try Statement(
            "INSERT INTO syncd_doubt VALUES (?1, ?2, ?3, ?4)", on: connection)
        for (uid, dots) in doubts {
            for (dot, confirmed) in dots {
                try insert.run(
                    .blob(uid.bytes), .integer(try replicas.number(of: dot.replica)),
                    .integer(dot.number), .blob(confirmed.sorted().flatMap(\.bytes)))
            }
        }
    }
}

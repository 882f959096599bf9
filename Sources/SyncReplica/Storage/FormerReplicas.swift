import SyncMerge
import SyncValues

/// The replicas that a file was before it was copied: `syncd_meta.former` has each of them with the
/// newest log row at the time of the copy.
struct FormerReplicas {
    private let former: [(replica: ReplicaID, upTo: Int64)]
    private let present: ReplicaID

    /// - Throws: `badData` for a setting that cannot be read.
    init(_ setting: Value, present: ReplicaID) throws {
        self.present = present
        guard case .blob(let bytes) = setting else {
            former = []
            return
        }
        var reader = ByteReader(bytes)
        var former: [(replica: ReplicaID, upTo: Int64)] = []
        while !reader.isAtEnd {
            let replica = try reader.identifier(ReplicaID.self)
            former.append((replica, try reader.signed()))
        }
        self.former = former
    }

    /// Whether this file wrote a transaction, also as the replica that it was before it was copied.
    func isOwn(_ dot: Dot) -> Bool {
        dot.replica == present
            || former.contains { $0.replica == dot.replica && dot.number <= $0.upTo }
    }

    /// The replica that wrote a log row.
    func replica(of seq: Int64) -> ReplicaID {
        former.first { seq <= $0.upTo }?.replica ?? present
    }
}

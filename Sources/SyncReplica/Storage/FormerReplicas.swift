import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Who wrote a log row of a file that was copied: `syncd_meta.former` has the replica that the file
/// was before, with the newest log row at the time, once for each copy.
struct FormerReplicas {
    private let former: [(replica: ReplicaID, upTo: Int64)]
    private let present: ReplicaID

    /// - Throws: `badData` when the setting makes no sense.
    init(_ setting: Value, present: ReplicaID) throws {
        self.present = present
        guard case .blob(let bytes) = setting else {
            former = []
            return
        }
        var reader = ByteReader(bytes)
        var former: [(replica: ReplicaID, upTo: Int64)] = []
        while !reader.isAtEnd {
            let replica = try reader.identifier(ReplicaID.init(bytes:))
            former.append((replica, try reader.signed()))
        }
        self.former = former
    }

    /// The replica that the file was when a log row was written.
    func replica(of seq: Int64) -> ReplicaID {
        former.first { seq <= $0.upTo }?.replica ?? present
    }
}

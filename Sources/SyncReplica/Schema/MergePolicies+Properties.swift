import SyncMerge
import SyncValues

extension MergePolicies {
    /// How the properties of an entity merge.
    public enum Properties: Sendable, Hashable {
        /// One by one; the last writer of each wins.
        case lastWriter
        /// One by one; the first of several who wrote at the same time wins.
        case firstWriter
        /// One by one; where a replica wrote at the same time as others, it wins.
        case preferring(ReplicaID)
        /// The whole row is one value; the last writer wins.
        case object
    }
}

extension MergePolicies.Properties: NamedPolicy, LosslessStringConvertible {
    package init?(name: String, replica: ReplicaID?) {
        switch (name, replica) {
        case ("lastWriter", nil): self = .lastWriter
        case ("firstWriter", nil): self = .firstWriter
        case ("object", nil): self = .object
        case ("preferring", let replica?): self = .preferring(replica)
        default: return nil
        }
    }

    package var name: (word: String, replica: ReplicaID?) {
        switch self {
        case .lastWriter: return ("lastWriter", nil)
        case .firstWriter: return ("firstWriter", nil)
        case .object: return ("object", nil)
        case .preferring(let replica): return ("preferring", replica)
        }
    }

    /// What merging makes of it.
    var cellPolicy: CellPolicy {
        switch self {
        case .lastWriter, .object: return .lastWriter
        case .firstWriter: return .firstWriter
        case .preferring(let replica): return .preferring(replica)
        }
    }
}

import SyncValues

/// Which of several concurrent versions of a property is shown, or how they become one value.
///
/// *Concurrent* means: the writer of none had seen another. A value that was seen by the writer of
/// another one is replaced by it, whatever the policy. ``counter``, ``set`` and ``text`` are for
/// properties without a key, UNIQUE, CHECK or reference.
public enum CellPolicy: Sendable, Hashable {
    /// The version that was written last.
    case lastWriter
    /// The version that was written first.
    case firstWriter
    /// The version of one replica; without one, the last version.
    case preferring(ReplicaID)
    /// A number: the initial value and everything that was added to it.
    case counter
    /// A JSON array: what was added, without what was removed by a writer that had seen it.
    case set
    /// Text: the changes of all writers, line by line. Where two changed the same lines, the last
    /// one wins, and the other text is in the conflict log.
    case text

    /// The replica whose version is shown.
    var preferred: ReplicaID? {
        if case .preferring(let replica) = self { return replica }
        return nil
    }

    /// Whether versions become one value. Such a cell is one column without a constraint.
    package var isBlending: Bool {
        switch self {
        case .lastWriter, .firstWriter, .preferring: return false
        case .counter, .set, .text: return true
        }
    }
}

extension CellPolicy: NamedPolicy, LosslessStringConvertible {
    package init?(name: String, replica: ReplicaID?) {
        switch (name, replica) {
        case ("lastWriter", nil): self = .lastWriter
        case ("firstWriter", nil): self = .firstWriter
        case ("counter", nil): self = .counter
        case ("set", nil): self = .set
        case ("text", nil): self = .text
        case ("preferring", let replica?): self = .preferring(replica)
        default: return nil
        }
    }

    package var name: (word: String, replica: ReplicaID?) {
        switch self {
        case .lastWriter: return ("lastWriter", nil)
        case .firstWriter: return ("firstWriter", nil)
        case .counter: return ("counter", nil)
        case .set: return ("set", nil)
        case .text: return ("text", nil)
        case .preferring(let replica): return ("preferring", replica)
        }
    }
}

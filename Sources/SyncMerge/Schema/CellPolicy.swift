import SyncValues

/// Which of several concurrent versions of a cell is shown, or how they become one value.
///
/// Always asked about versions of which none had seen another: who saw a value and wrote another
/// one has replaced it, whatever the policy.
package enum CellPolicy: Sendable, Hashable {
    /// The version that was written last.
    case lastWriter
    /// The version that was written first.
    case firstWriter
    /// The version of one replica; else the last one.
    case preferring(ReplicaID)
    /// The initial value and what everybody added to it.
    case counter
    /// A JSON array: what anybody added and nobody who saw it removed.
    case set
    /// Text by lines: the changes of all, from a common ancestor.
    case text

    /// The replica whose version is shown.
    var preferred: ReplicaID? {
        if case .preferring(let replica) = self { return replica }
        return nil
    }

    /// Whether versions become one value. Such a cell is one column that no constraint looks at.
    package var isBlending: Bool {
        switch self {
        case .lastWriter, .firstWriter, .preferring: return false
        case .counter, .set, .text: return true
        }
    }
}

import SyncValues

/// Which of several concurrent versions of a cell is shown, or how they become one value.
///
/// Applies to versions of which none had seen another: a write whose writer had seen a value
/// replaces that value, whatever the policy.
package enum CellPolicy: Sendable, Hashable {
    /// The version that was written last.
    case lastWriter
    /// The version that was written first.
    case firstWriter
    /// The version of one replica; else the last one.
    case preferring(ReplicaID)
    /// The initial value and the sum of all additions.
    case counter
    /// A JSON array: an element is present when it was added and no writer that saw the addition
    /// removed it.
    case set
    /// Text by lines: the changes of all versions relative to a common ancestor.
    case text

    /// The replica whose version is shown.
    var preferred: ReplicaID? {
        if case .preferring(let replica) = self { return replica }
        return nil
    }

    /// Whether versions become one value. Such a cell is one column that no constraint names.
    package var isBlending: Bool {
        switch self {
        case .lastWriter, .firstWriter, .preferring: return false
        case .counter, .set, .text: return true
        }
    }
}

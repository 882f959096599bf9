import SyncMerge
import SyncValues

/// One row of `syncd_object` without its identity: the facts of an object, and how the tables show
/// it here.
struct StoredObject: Hashable {
    /// How the tables show an object.
    enum State: Int64 {
        /// Shown as it was recorded: a merge elsewhere needs its row alone. Whether older versions
        /// of its cells are overridden depends on the object alone.
        case plain = 0
        /// Deleted, and no row refers to it.
        case gone = 1
        /// Repaired, hidden, or part of a row of several objects: in the region of every merge,
        /// because a change of another object may resolve it.
        case unresolved = 2
    }

    /// The facts.
    var record: ObjectRecord
    /// The key of its row; nil when it has none.
    var key: [Value]?
    /// The private number that it has, or that is reserved for it.
    var number: Int64?
    /// How the tables show it.
    var state: State
    /// The position in the merge order of the newest transaction that wrote it.
    var place: Int64
}

extension StoredObject.State {
    /// How a view shows an object.
    /// - Complexity: O(facts of the object)
    init(of uid: ObjectUID, record: ObjectRecord, in state: MergeState, view: View) {
        if view.revived.contains(uid) {
            self = .unresolved
            return
        }
        guard let row = view.rows[uid], row.members.count == 1 else {
            let isHosted = view.shownAs[uid] != nil
            let isLive = isHosted || state.isAlive(record) || record.life.isEmpty
            self = isLive ? .unresolved : .gone
            return
        }
        self = Self.isPlain(record, shownAs: row, in: state) ? .plain : .unresolved
    }

    private static func isPlain(
        _ record: ObjectRecord, shownAs row: ShownRow, in state: MergeState
    ) -> Bool {
        let cells = state.schema.entities[record.entity].cells
        let policies = state.schema.entities[record.entity].policies
        let number = state.schema.entities[record.entity].numberCell
        for (cell, source) in row.sources.enumerated() {
            guard let source else { return false }
            // Whether a claim is shown depends on the rows that have the number, and those come
            // into the region with it.
            if cell == number { continue }
            // How versions become one value depends on the object alone, too.
            if policies[cell].isBlending { continue }
            for version in record.cells[cell] {
                let isEqual = zip(cells[cell], state.literal(version)).allSatisfy {
                    $1 == .unstated || row.fields[$0] == $1
                }
                if isEqual { continue }
                // Versions that refer to two objects are equal once these become one.
                if version.dot == source.dot || version.value.contains(where: { $0.target != nil })
                {
                    return false
                }
            }
        }
        return true
    }
}

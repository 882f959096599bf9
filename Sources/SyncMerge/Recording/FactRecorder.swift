import SyncValues

/// States facts in the name of a local transaction: the last one, unless another dot is given.
///
/// Invariants: `state` holds every fact of `facts`, and the header of every dot that is given.
package struct FactRecorder {
    package private(set) var state: MergeState
    package private(set) var facts: [Fact] = []
    package let header: TransactionHeader

    /// Begins a transaction that has seen everything in `state`.
    package init(_ state: MergeState, dot: Dot, time: HybridTime) {
        header = TransactionHeader(dot, time: time, seen: state.vector)
        self.state = state
        self.state.insert(header)
    }

    /// Begins several transactions of one replica, in their order, with nothing merged in between.
    package init(_ state: MergeState, _ headers: [TransactionHeader], last: TransactionHeader) {
        header = last
        self.state = state
        for header in headers { self.state.insert(header) }
        self.state.insert(last)
    }

    package var schema: MergeSchema { state.schema }

    package func isAlive(_ uid: ObjectUID) -> Bool {
        state.objects[uid].map(state.isAlive) ?? false
    }

    /// Whether anything was stated of the object's life: else there is nothing to end or revive.
    package func hasLife(_ uid: ObjectUID) -> Bool { !(state.objects[uid]?.life.isEmpty ?? true) }

    package func incarnation(_ uid: ObjectUID) -> Int { state.objects[uid]?.incarnation ?? 0 }

    package mutating func state(_ fact: Fact) {
        facts.append(fact)
        state.insert(fact)
    }

    package mutating func unite(_ left: ObjectUID, _ right: ObjectUID) {
        state(.alias(left, right, header.dot))
    }

    /// Ends an object that has a life.
    package mutating func delete(_ uid: ObjectUID, entity: Int, at dot: Dot? = nil) {
        let life = Life(dot ?? header.dot, .deleted, incarnation: incarnation(uid))
        state(.life(uid, entity: entity, life))
    }

    /// Makes an object that is shown although deleted live on.
    package mutating func revive(_ uid: ObjectUID, entity: Int) {
        let life = Life(header.dot, .revived, incarnation: incarnation(uid))
        state(.life(uid, entity: entity, life))
    }

    /// Begins the next life of an object, with all its cells.
    /// - Parameter dot: the transaction that wrote the columns of a cell; of none of them: that
    ///   created the object.
    package mutating func create(
        _ uid: ObjectUID, entity: Int, _ fields: [Field], at dot: ([Int]) -> Dot? = { _ in nil }
    ) {
        // At the end of the range the next life has the number of the one before: it has seen its
        // end, which says the same.
        let incarnation = min(incarnation(uid) + 1, Life.incarnationMax)
        let life = Life(dot([]) ?? header.dot, .created, incarnation: incarnation)
        state(.life(uid, entity: entity, life))
        for (cell, columns) in schema.entities[entity].cells.enumerated() {
            state(
                cell, columns.map { fields[$0] }, of: uid, entity: entity,
                incarnation: incarnation, at: dot(columns))
        }
    }

    /// Writes a cell in the register that the row shows: written to another member, the new value
    /// would not overwrite the one that was seen.
    package mutating func write(
        _ cell: Int, _ fields: [Field], to row: ShownRow, at dot: Dot? = nil
    ) {
        let source = row.sources[cell]?.object
        var member = source ?? row.name
        if source == nil || !isAlive(member) {
            member = row.members.first(where: isAlive) ?? member
        }
        let value = schema.entities[row.entity].cells[cell].map { fields[$0] }
        state(
            cell, value, of: member, entity: row.entity, incarnation: incarnation(member), at: dot)
    }

    /// States a cell: what the writer wants to be shown, on top of what the register holds.
    package mutating func state(
        _ cell: Int, _ value: [Field], of uid: ObjectUID, entity: Int, incarnation: Int,
        at dot: Dot? = nil
    ) {
        let policy = schema.entities[entity].policies[cell]
        let dot = dot ?? header.dot
        var value = value
        if !policy.isBlending {
            value = value.map(MergeState.plain)
        } else if case .value(let wanted)? = value.first {
            let versions =
                state.objects[uid]?.incarnation == incarnation
                ? state.objects[uid].map { state.candidates($0, cell: cell, alive: true) } : nil
            let packed = state.successor(
                of: versions ?? [], writing: wanted, policy, dot: dot, time: state.time(dot))
            value = [.value(packed)]
        }
        let version = Version(dot, incarnation: incarnation, value: value)
        state(.cell(uid, entity: entity, cell: cell, version))
    }

    /// Makes objects that `view` shows although deleted live on, and the deleted ones that they
    /// stand on.
    mutating func touch(_ uids: [ObjectUID], in view: View) {
        var work = uids
        var done: Set<ObjectUID> = []
        while let uid = work.popLast() {
            guard done.insert(uid).inserted, let host = view.hosts[uid],
                let row = view.rows[host], row.members.contains(where: view.revived.contains)
            else { continue }
            for member in row.members where hasLife(member) && !isAlive(member) {
                revive(member, entity: row.entity)
            }
            work += row.fields.compactMap(\.target)
        }
    }
}

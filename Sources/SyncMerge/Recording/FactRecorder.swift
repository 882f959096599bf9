/// Builds the facts of local transactions: each is recorded under the last transaction, unless
/// another dot is given.
///
/// Invariants: `state` holds every fact of `facts`, and the header of every dot that is given.
package struct FactRecorder {
    /// The state, with the recorded facts.
    package private(set) var state: MergeState
    /// The recorded facts, in order.
    package private(set) var facts: [Fact] = []
    /// The header of the last transaction.
    package let header: TransactionHeader

    /// Begins a transaction that has seen everything in `state`.
    package init(_ state: MergeState, dot: Dot, time: HybridTime) {
        header = TransactionHeader(dot, time: time, seen: state.vector)
        self.state = state
        self.state.insert(header)
    }

    /// Begins several transactions of one replica, in their order, with nothing merged in between.
    package init(_ state: MergeState, headers: [TransactionHeader], last: TransactionHeader) {
        header = last
        self.state = state
        for header in headers { self.state.insert(header) }
        self.state.insert(last)
    }

    /// The schema of the state.
    package var schema: MergeSchema { state.schema }

    /// Whether an object is alive; false for an unknown one.
    package func isAlive(_ uid: ObjectUID) -> Bool {
        state.objects[uid].map(state.isAlive) ?? false
    }

    /// Whether there is a life fact of the object: otherwise there is nothing to delete or revive.
    package func hasLife(_ uid: ObjectUID) -> Bool { !(state.objects[uid]?.life.isEmpty ?? true) }

    /// The newest incarnation of an object; 0 for an unknown one.
    package func incarnation(_ uid: ObjectUID) -> Int { state.objects[uid]?.incarnation ?? 0 }

    /// Records a fact.
    package mutating func record(_ fact: Fact) {
        facts.append(fact)
        state.insert(fact)
    }

    /// Records that two identities are one object, permanently.
    package mutating func mergeIdentities(_ left: ObjectUID, with right: ObjectUID) {
        record(.alias(left, right, header.dot))
    }

    /// Deletes an object.
    package mutating func delete(_ uid: ObjectUID, entity: Int, at dot: Dot? = nil) {
        let life = Life(dot ?? header.dot, kind: .deleted, incarnation: incarnation(uid))
        record(.life(uid, entity: entity, life))
    }

    /// Deletes an object that has no life fact, but cells: its creation was overwritten by a delete
    /// that is not here.
    package mutating func deleteUnborn(_ uid: ObjectUID) {
        guard let record = state.objects[uid], record.life.isEmpty, !record.dots.isEmpty else {
            return
        }
        delete(uid, entity: record.entity)
    }

    /// Revives an object that is shown although deleted.
    package mutating func revive(_ uid: ObjectUID, entity: Int) {
        let life = Life(header.dot, kind: .revived, incarnation: incarnation(uid))
        record(.life(uid, entity: entity, life))
    }

    /// Records the next life of an object, with all its cells.
    /// - Parameter dot: the transaction that wrote the columns of a cell; for no columns, the one
    ///   that created the object.
    package mutating func create(
        _ uid: ObjectUID, entity: Int, fields: [Field], at dot: ([Int]) -> Dot? = { _ in nil }
    ) {
        // At the end of the range the next life has the number of the one before: it has seen that
        // one's delete, which orders them.
        let incarnation = min(incarnation(uid) + 1, Life.incarnationMax)
        let life = Life(dot([]) ?? header.dot, kind: .created, incarnation: incarnation)
        record(.life(uid, entity: entity, life))
        for (cell, columns) in schema.entities[entity].cells.enumerated() {
            recordCell(
                cell, value: columns.map { fields[$0] }, of: uid, entity: entity,
                incarnation: incarnation, at: dot(columns))
        }
    }

    /// Writes a cell in the register that the row shows: written to another member, the new value
    /// would not overwrite the one that was seen.
    package mutating func writeCell(
        _ cell: Int, fields: [Field], to row: ShownRow, at dot: Dot? = nil
    ) {
        let source = row.sources[cell]?.object
        var member = source ?? row.name
        if source == nil || !isAlive(member) {
            member = row.members.first(where: isAlive) ?? member
        }
        let value = schema.entities[row.entity].cells[cell].map { fields[$0] }
        recordCell(
            cell, value: value, of: member, shownAs: row.name, entity: row.entity,
            incarnation: incarnation(member), at: dot)
    }

    /// Records a version of a cell: the value that the writer wants to be shown, on top of what the
    /// register holds.
    /// - Parameter name: the identity that the row is shown under; nil: the object's own.
    package mutating func recordCell(
        _ cell: Int, value: [Field], of uid: ObjectUID, shownAs name: ObjectUID? = nil, entity: Int,
        incarnation: Int, at dot: Dot? = nil
    ) {
        let policy = schema.entities[entity].policies[cell]
        let dot = dot ?? header.dot
        var value = value
        if cell == schema.entities[entity].numberCell {
            value = value.map {
                state.claimValue($0, of: uid, shownAs: name ?? uid, cell: cell, at: dot)
            }
        } else if !policy.isBlending {
            value = value.map(MergeState.escaped)
        } else if case .value(let wanted)? = value.first {
            let versions =
                state.objects[uid]?.incarnation == incarnation
                ? state.objects[uid].map { state.candidates($0, cell: cell, alive: true) } : nil
            let packed = state.successor(
                of: versions ?? [], writing: wanted, policy: policy, dot: dot, time: state.time(dot)
            )
            value = [.value(packed)]
        }
        let version = Version(dot, incarnation: incarnation, value: value)
        record(.cell(uid, entity: entity, cell: cell, version))
    }

    /// Revives the objects among `uids` that `view` shows although deleted, and the deleted objects
    /// that these refer to: a write to a repaired row makes it permanent.
    mutating func markWritten(_ uids: [ObjectUID], in view: View) {
        var work = uids
        var done: Set<ObjectUID> = []
        while let uid = work.popLast() {
            guard done.insert(uid).inserted, let host = view.shownAs[uid],
                let row = view.rows[host], row.members.contains(where: view.revived.contains)
            else { continue }
            for member in row.members where hasLife(member) && !isAlive(member) {
                revive(member, entity: row.entity)
            }
            work += row.fields.compactMap(\.target)
        }
    }
}

import SyncValues

/// The facts of rows that nothing is known of yet, one row after the other: what
/// ``FactRecorder/create(_:entity:fields:at:)`` records of such an object, without a state of all
/// of them.
///
/// A row is *plain* here when a view of these facts shows it as it is, whatever the other rows are,
/// in tables whose constraints hold. All others need a view.
package struct NewObjects {
    /// Has the headers of the transactions, and no object.
    private let state: MergeState

    /// Begins with the transactions that the facts are of.
    package init(_ schema: MergeSchema, headers: [TransactionHeader]) {
        state = MergeState(
            schema: schema, vector: VersionVector(), headers: headers, objects: [:], aliases: [:])
    }

    /// The record of a new object.
    /// - Parameters:
    ///   - fields: one for each column, references by identity.
    ///   - dot: as in ``FactRecorder/create(_:entity:fields:at:)``.
    /// - Returns: nil where a value is shown otherwise than it was written.
    /// - Complexity: O(columns)
    package func record(
        of uid: ObjectUID, entity: Int, fields: [Field], at dot: ([Int]) -> Dot
    ) -> ObjectRecord? {
        let described = state.schema.entities[entity]
        var record = ObjectRecord(entity: entity, cellCount: described.cells.count)
        record.life = [Life(dot([]), kind: .created, incarnation: 1)]
        for (cell, columns) in described.cells.enumerated() {
            let dot = dot(columns)
            let value = columns.map { MergeState.escaped(fields[$0]) }
            if cell == described.numberCell {
                // A row without a number of its own gets one by its view.
                let claim = state.claimValue(value[0], of: uid, shownAs: uid, cell: cell, at: dot)
                guard claim == value[0] else { return nil }
            }
            let version = Version(dot, incarnation: 1, value: value)
            let policy = described.policies[cell]
            if policy.isBlending {
                let shown = state.blend([version], newest: version, policy: policy).value
                guard columns.count == 1, fields[columns[0]] == .value(shown) else { return nil }
            }
            record.cells[cell] = [version]
        }
        return record
    }
}

extension MergeEntity {
    /// Whether an index computes something from the key of another row, or from a number that is
    /// not part of the facts: then it may call rows equal that the tables do not.
    package var computesReferences: Bool {
        let own = Set(references.flatMap(\.columns) + (isPrivate ? key : []))
        return claims.contains { !own.isDisjoint(with: $0.computed) }
    }
}

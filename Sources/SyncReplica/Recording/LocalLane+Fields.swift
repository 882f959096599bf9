import SyncMerge
import SyncStorage
import SyncValues

/// Rows as a record has them, and how they differ from it.
extension LocalLane {
    /// Reads the row of a key, cell by cell as a record has it.
    /// - Parameter row: nil: there is none.
    func read(_ row: Statement?, _ key: [Value], _ entity: StatedEntity) throws {
        guard let select = row else { throw LocalLaneReason.incomplete }
        // When it was logged the column may have had another type.
        guard
            zip(entity.key, key).allSatisfy({ column, value in
                select.value(Int32(column)) == value
            })
        else { throw LocalLaneReason.key }
        if entity.mayRefuse { try requireAccepted(select, entity) }
        guard shown.read(select, entity, targets: try targets(of: select, entity)) else {
            throw LocalLaneReason.value
        }
    }

    /// Checks that there is no row of a key, and none that refers to it.
    /// - Complexity: a look-up for each reference to the table, O(rows) where it has no index
    func requireGone(_ key: [Value], _ entity: StatedEntity) throws {
        let row = try objects.row(of: entity)
        row.bind(key)
        defer { row.reset() }
        guard try !row.step() else { throw LocalLaneReason.incomplete }
        for sql in entity.selectReferrers {
            let referrers = try storage.statements.statement(sql)
            referrers.bind(key)
            defer { referrers.reset() }
            guard try !referrers.step() else { throw LocalLaneReason.delete }
        }
    }

    func requireAccepted(_ row: Statement, _ entity: StatedEntity) throws {
        guard !entity.refuses(row, in: storage.schema.merge) else { throw LocalLaneReason.refused }
    }

    /// What the references of a row lead to; nil: nothing.
    func targets(of row: Statement, _ entity: StatedEntity) throws -> [ObjectUID?] {
        if entity.references.isEmpty { return [] }
        return try entity.references.map { reference in
            let values = reference.columns.map { row.value(Int32($0)) }
            if values.contains(.null) { return nil }
            return try target(storage.schema.merge.key(reference.target, values), depth: 0)
        }
    }

    /// The cells that are to be stated: those that differ from the record.
    func changedCells(of row: Int, _ entity: StatedEntity) throws -> PositionSet {
        var changed = PositionSet()
        var start = 0
        let (blending, keys) = (entity.blendingCells, entity.keyCells)
        for cell in entity.cells.indices {
            defer { start = shown.ends[cell] }
            if blending.contains(cell) {
                if writes.isWritten(cell, row: row) { throw LocalLaneReason.policy }
                continue
            }
            let range = start..<shown.ends[cell]
            if try shown.isEqual(range, to: parsed.cells[cell], of: stored) { continue }
            guard !keys.contains(cell) else { throw LocalLaneReason.key }
            // A state of a former policy is shown otherwise than it is stored, and so is a
            // reference in a column that refers to nothing here.
            guard !parsed.hasStates, !isUndeclared(cell, entity) else {
                throw LocalLaneReason.value
            }
            changed.insert(cell)
        }
        return changed
    }

    /// Whether the record has a reference in a column of a cell that refers to nothing here.
    private func isUndeclared(_ cell: Int, _ entity: StatedEntity) -> Bool {
        let fields = parsed.cells[cell].fields..<parsed.cells[cell].end
        return parsed.targets.contains(where: fields.contains)
            && entity.cells[cell].contains { entity.parts[$0] == nil }
    }

    /// What an unresolved object names is not referred to, neither before nor after: whether it is
    /// shown may depend on that.
    func requireUntroubledTargets() throws {
        if surroundings.objects.isEmpty { return }
        for start in parsed.targets {
            guard let uid = ObjectUID(bytes: Array(stored[start..<start + 16])),
                !surroundings.objects.contains(uid)
            else { throw LocalLaneReason.trouble }
        }
    }
}

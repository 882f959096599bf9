import SyncValues

/// Renumbering: the replica that stated a claim which lost states another one.
extension FactRecorder {
    /// Whether a row claims a number, shown or not.
    func claims(_ number: Field, for row: ShownRow, in view: View) -> Bool {
        guard case .value(.integer(let number)) = number,
            let cell = schema.entities[row.entity].numberCell,
            let source = row.sources[cell] ?? view.lostNumbers[row.name]
        else { return false }
        return state.claim(source)?.number == number
    }

    /// States the next number for each of some rows. Their references are by identity, and follow.
    /// - Parameters:
    ///   - names: rows of entities with shared numbers.
    ///   - next: the next number of an entity: above all that are in use.
    /// - Throws: what `next` throws.
    package mutating func renumber(
        _ names: [ObjectUID], in view: View, next: (_ entity: Int) throws -> Int64
    ) rethrows {
        for name in names {
            guard let row = view.rows[name] else { continue }
            let entity = schema.entities[row.entity]
            guard let cell = entity.numberCell else { continue }
            var fields = row.fields
            fields[entity.key[0]] = .value(.integer(try next(row.entity)))
            writeCell(cell, fields: fields, to: row)
        }
    }

    /// States other numbers in place of references to nothing. What they refer to is nothing, as
    /// before. Nothing else of a version changes: also what a repair does not show of it stays.
    /// - Parameter steps: by row and column, which of the numbers that it can have (from 1).
    package mutating func replaceLooseNumbers(
        _ steps: [ObjectUID: [Int: UInt32]], in view: View
    ) {
        for (name, columns) in steps.sorted(by: { $0.key < $1.key }) {
            guard let row = view.rows[name] else { continue }
            let entity = schema.entities[row.entity]
            replaceNumbers(in: Set(columns.keys), of: row) { member, column in
                let title = Collation.lowercased(entity.columns[column].name)
                return .value(
                    .integer(LooseNumber.of(member, column: title, columns[column] ?? 1)))
            }
        }
    }

    /// States references in place of numbers that were taken for references to nothing.
    /// - Parameter fields: the references, by row and column.
    package mutating func restoreReferences(
        _ fields: [ObjectUID: [Int: Field]], in view: View
    ) {
        for (name, columns) in fields.sorted(by: { $0.key < $1.key }) {
            guard let row = view.rows[name] else { continue }
            replaceNumbers(in: Set(columns.keys), of: row) { _, column in
                columns[column] ?? .value(.null)
            }
        }
    }

    private mutating func replaceNumbers(
        in columns: Set<Int>, of row: ShownRow,
        by field: (_ member: ObjectUID, _ column: Int) -> Field
    ) {
        let entity = schema.entities[row.entity]
        for cell in Set(columns.compactMap { entity.cellOfColumn[$0] }).sorted() {
            guard let (id, version) = state.statedVersion(of: row, cell: cell) else { continue }
            let member =
                isAlive(id.object) ? id.object : row.members.first(where: isAlive) ?? id.object
            var value = version.value
            for (place, column) in entity.cells[cell].enumerated()
            where columns.contains(column) && value[place].target == nil {
                value[place] = field(member, column)
            }
            let incarnation = incarnation(member)
            let new = Version(header.dot, incarnation: incarnation, value: value)
            record(.cell(member, entity: row.entity, cell: cell, new))
        }
    }
}

extension ShownRow {
    /// Whether a column shows a number that took the place of one which led to nothing.
    package func showsLooseNumber(_ column: Int, of entity: MergeEntity) -> Bool {
        guard case .value(.integer(let number)) = fields[column], number < 0,
            let source = entity.cellOfColumn[column].flatMap({ sources[$0] })
        else { return false }
        let title = Collation.lowercased(entity.columns[column].name)
        return (1...LooseNumber.stepsMax).contains {
            LooseNumber.of(source.object, column: title, $0) == number
        }
    }
}

extension View {
    /// The rows whose claim lost, or that claim no number, where one writer stated that: it states
    /// another number. Nobody else does: so there is no disagreement and no loop.
    /// - Parameter isOwn: whether a transaction is one of the writer.
    /// - Returns: sorted.
    package func lostNumbers(of isOwn: (Dot) -> Bool) -> [ObjectUID] {
        lostNumbers.filter { isOwn($0.value.dot) }.keys.sorted()
    }
}

extension MergeState {
    /// The version that a cell of a row shows; where a repair shows a part of it otherwise, the
    /// newest one. Nil: it has none.
    package func statedVersion(
        of row: ShownRow, cell: Int
    ) -> (id: VersionID, version: Version)? {
        func versions(of uid: ObjectUID) -> [(id: VersionID, version: Version)] {
            (objects[uid]?.cells[cell] ?? []).map { (VersionID(uid, cell: cell, dot: $0.dot), $0) }
        }
        if let source = row.sources[cell] {
            return versions(of: source.object).first { $0.id == source }
        }
        let all = row.members.flatMap(versions)
        return all.isEmpty ? nil : newest(of: all, dot: \.id.dot, name: \.id)
    }

    /// The greatest number that an object of an entity claims or claimed last; nil when there is
    /// none.
    /// - Complexity: O(objects of the state)
    package func greatestClaim(of entity: Int) -> Int64? {
        guard let cell = schema.entities[entity].numberCell else { return nil }
        var greatest: Int64?
        for record in objects.values where record.entity == entity {
            for version in record.cells[cell] {
                guard let number = NumberClaim(version, in: self).number else { continue }
                greatest = max(greatest ?? number, number)
            }
        }
        return greatest
    }
}

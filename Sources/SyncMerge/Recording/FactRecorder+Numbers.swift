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
            let cells = schema.entities[row.entity].cellOfColumn
            for cell in Set(columns.keys.compactMap { cells[$0] }).sorted() {
                replaceLooseNumbers(columns, of: row, cell: cell)
            }
        }
    }

    private mutating func replaceLooseNumbers(
        _ steps: [Int: UInt32], of row: ShownRow, cell: Int
    ) {
        guard let (id, version) = state.statedVersion(of: row, cell: cell) else { return }
        let entity = schema.entities[row.entity]
        let member =
            isAlive(id.object) ? id.object : row.members.first(where: isAlive) ?? id.object
        var value = version.value
        for (place, column) in entity.cells[cell].enumerated() {
            guard let step = steps[column], value[place].target == nil else { continue }
            let title = entity.columns[column].name.lowercased()
            value[place] = .value(.integer(LooseNumber.of(member, column: title, step)))
        }
        let incarnation = incarnation(member)
        let new = Version(header.dot, incarnation: incarnation, value: value)
        record(.cell(member, entity: row.entity, cell: cell, new))
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

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
    /// before.
    /// - Parameter steps: by row and column, which of the numbers that it can have (from 1).
    package mutating func replaceLooseNumbers(
        _ steps: [ObjectUID: [Int: UInt32]], in view: View
    ) {
        for (name, columns) in steps.sorted(by: { $0.key < $1.key }) {
            guard let row = view.rows[name] else { continue }
            let entity = schema.entities[row.entity]
            var fields = row.fields
            for (column, step) in columns {
                let title = entity.columns[column].name.lowercased()
                fields[column] = .value(.integer(LooseNumber.of(name, column: title, step)))
            }
            for cell in Set(columns.keys.compactMap { entity.cellOfColumn[$0] }).sorted() {
                writeCell(cell, fields: fields, to: row)
            }
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

import SyncMerge
import SyncStorage
import SyncValues

/// The rows of the user's tables.
extension FastLane {
    /// Writes the rows, and notes what that changes in those of known objects.
    /// - Returns: false where SQLite refuses a row.
    /// - Throws: SQLite errors.
    /// - Complexity: O(facts of the slice), a look-up for each object
    func writeRows() throws -> Bool {
        history.rows = Array(repeating: LaneHistory.Row(), count: arrivals.count)
        for place in arrivals.indices {
            guard let entity = lane.entities[arrivals[place].entity] else { return false }
            let isWritten =
                arrivals[place].isNew ? try insertRow(place, entity) : try updateRow(place, entity)
            guard isWritten else { return false }
        }
        return true
    }

    private func insertRow(_ place: Int, _ entity: LaneEntity) throws -> Bool {
        let arrival = arrivals[place]
        let insert = try lane.insert(into: entity)
        // It may have nothing but its number.
        if entity.isPrivate { insert.bind(arrival.number, at: Int32(entity.key[0] + 1)) }
        for fact in order[arrival.facts] where fact.group >= 2 {
            let columns = entity.cells[cell(of: fact)].columns
            for (position, column) in columns.enumerated() {
                try bind(field(fact, position), to: insert, at: Int32(column + 1))
            }
        }
        return try insert.runUnlessRefused() && insert.changes == 1
    }

    // MARK: Updates

    /// A column whose change only the stored row tells: SQLite may convert what is bound.
    private struct Uncertain {
        /// Its position among the columns that are read.
        let index: Int32
        let column: Int
        let former: Value
    }

    private func updateRow(_ place: Int, _ entity: LaneEntity) throws -> Bool {
        let arrival = arrivals[place]
        if arrival.shown.isEmpty { return true }
        let access = try lane.access(arrival.shown, of: entity)
        bindKey(of: arrival, to: access.read, after: 0)
        guard try access.read.step() else { return false }
        defer { access.read.reset() }
        let keepsOldValues = tracked[arrival.entity]?.keepsOldValues ?? false
        var row = LaneHistory.Row()
        var uncertain: [Uncertain] = []
        var index = Int32(0)
        for cell in entity.cells.indices where arrival.shown.contains(cell) {
            guard let fact = self.place(of: cell, arrival) else { return false }
            for (position, column) in entity.cells[cell].columns.enumerated() {
                let field = field(fact, position)
                try bind(field, to: access.write, at: index + 1)
                let isSame = try isStored(
                    field, in: access.read, index, affinity: entity.table.affinities[column])
                if isSame == nil {
                    uncertain.append(
                        Uncertain(index: index, column: column, former: access.read.value(index)))
                } else if isSame == false {
                    row.changed.insert(column)
                    if keepsOldValues { row.old.append((column, access.read.value(index))) }
                }
                index += 1
            }
        }
        // An update of a table with an open reader saves its place.
        access.read.reset()
        guard !row.changed.isEmpty || !uncertain.isEmpty else { return true }
        bindKey(of: arrival, to: access.write, after: access.columnCount)
        guard try access.write.runUnlessRefused(), access.write.changes == 1 else { return false }
        if !uncertain.isEmpty {
            guard try access.read.step() else { return false }
            for item in uncertain where access.read.value(item.index) != item.former {
                row.changed.insert(item.column)
                if keepsOldValues { row.old.append((item.column, item.former)) }
            }
        }
        history.rows[place] = row
        return true
    }

    private func bindKey(of arrival: Arrival, to statement: Statement, after count: Int) {
        guard !arrival.key.isEmpty else {
            return statement.bind(arrival.number, at: Int32(count + 1))
        }
        for (position, value) in arrival.key.enumerated() {
            statement.bind(value, at: Int32(count + position + 1))
        }
    }

    /// Whether a column of the row that a statement is at has a value already.
    /// - Returns: nil where SQLite may convert the value on writing it.
    private func isStored(
        _ field: FieldPlace, in read: Statement, _ index: Int32, affinity: Affinity
    ) throws -> Bool? {
        let word = word(field)
        switch (tag(field), affinity) {
        case (.null, _): return read.isNull(index)
        case (.integer, .integer), (.integer, .numeric), (.integer, .blob):
            return read.isInteger(index) && read.integer(index) == Int64(bitPattern: word)
        case (.real, .real), (.real, .blob):
            return read.isReal(index) && read.real(index) == Double(bitPattern: word)
        case (.text, .text), (.text, .blob):
            let isSame = withBytes(field) { read.hasText($0, index) }
            return isSame || lane.keepsText ? isSame : nil
        case (.blob, _): return withBytes(field) { read.hasBlob($0, index) }
        case (.reference, _):
            let value = try target(Int(word))?.key ?? .null
            switch (value, affinity) {
            case (.null, _), (.integer, .integer), (.integer, .numeric), (.integer, .blob),
                (.blob, _):
                return read.value(index) == value
            default: return nil
            }
        default: return nil
        }
    }

    private func bind(_ field: FieldPlace, to statement: Statement, at index: Int32) throws {
        let word = word(field)
        switch tag(field) {
        case .null: statement.bindNull(index)
        case .integer: statement.bind(Int64(bitPattern: word), at: index)
        case .real: statement.bind(Double(bitPattern: word), at: index)
        case .text: withBytes(field) { statement.bind($0, isText: true, at: index) }
        case .blob: withBytes(field) { statement.bind($0, isText: false, at: index) }
        case .reference: statement.bind(try target(Int(word))?.key ?? .null, at: index)
        }
    }
}

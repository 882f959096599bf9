import SyncMerge
import SyncStorage
import SyncValues

/// The rows of the user's tables.
extension FastLane {
    /// How many rows are read at once: what is written of them is in memory.
    private static let rowsMax = 500

    /// Writes the rows, and notes what that changes in those of known objects.
    /// - Returns: false where SQLite refuses a row.
    /// - Throws: SQLite errors.
    /// - Complexity: O(facts of the slice), a look-up for each object
    func writeRows() throws -> Bool {
        history.rows = Array(repeating: LaneHistory.Row(), count: arrivals.count)
        var inserts: [Int: RowStatement] = [:]
        var updates: [LaneStorage.Cells: [Int]] = [:]
        for (place, arrival) in arrivals.enumerated() {
            guard let entity = lane.entities[arrival.entity] else { return false }
            guard arrival.isNew else {
                guard !arrival.shown.isEmpty else { continue }
                let cells = LaneStorage.Cells(entity: arrival.entity, cells: arrival.shown)
                updates[cells, default: []].append(place)
                continue
            }
            let insert = try lane.insert(into: entity)
            inserts[arrival.entity] = insert
            try add(arrival, to: insert, entity)
            guard try !insert.isFull || insert.runUnlessRefused() else { return false }
        }
        for (cells, places) in updates.sorted(by: { $0.value[0] < $1.value[0] }) {
            guard try updateRows(places, cells) else { return false }
        }
        return try inserts.values.allSatisfy { try $0.runUnlessRefused() }
    }

    private func add(_ arrival: Arrival, to insert: RowStatement, _ entity: LaneEntity) throws {
        insert.addRow()
        // It may have nothing but its number.
        if entity.isPrivate { insert.bind(arrival.number, at: Int32(entity.key[0] + 1)) }
        for fact in order[arrival.facts] where fact.group >= 2 {
            let columns = entity.cells[cell(of: fact)].columns
            for (position, column) in columns.enumerated() {
                try bind(field(fact, position), to: insert, at: Int32(column + 1))
            }
        }
    }

    // MARK: Updates

    /// A column whose change only the stored row tells: SQLite may convert what is bound.
    private struct Uncertain {
        let place: Int
        /// Its position among the columns that are read.
        let index: Int32
        let column: Int
        let former: Value
    }

    /// Rows of one table in which the same cells are written: read, compared, and written where
    /// they differ.
    private func updateRows(_ places: [Int], _ cells: LaneStorage.Cells) throws -> Bool {
        guard let entity = lane.entities[cells.entity] else { return false }
        let access = try lane.access(cells)
        var rest = places[...]
        while !rest.isEmpty {
            let slice = rest.prefix(Self.rowsMax)
            rest = rest.dropFirst(slice.count)
            var uncertain: [Uncertain] = []
            let isFound = try forEachRow(of: slice, access) { place, row in
                try compare(row, place, entity, access, &uncertain)
            }
            guard isFound, try access.write.runUnlessRefused() else { return false }
            guard !uncertain.isEmpty else { continue }
            var index = 0
            let isSame = try forEachRow(of: slice, access) { place, row in
                while index < uncertain.count, uncertain[index].place == place {
                    let item = uncertain[index]
                    index += 1
                    guard row.value(item.index) != item.former else { continue }
                    history.rows[place].changed.insert(item.column)
                    if keepsOldValues(cells.entity) {
                        history.rows[place].old.append((item.column, item.former))
                    }
                }
            }
            guard isSame else { return false }
        }
        return true
    }

    /// Calls `body` with the row of each object, in their order.
    /// - Returns: false where one of them has no row, or several.
    private func forEachRow(
        of places: ArraySlice<Int>, _ access: LaneStorage.CellAccess,
        _ body: (_ place: Int, _ row: Statement) throws -> Void
    ) throws -> Bool {
        for place in places {
            access.read.addRow()
            bindKey(of: arrivals[place], to: access.read, after: 0)
        }
        var next = places.startIndex
        var isWhole = true
        try access.read.forEachRow { row in
            isWhole =
                isWhole && next < places.endIndex
                && row.integer(0) == Int64(next - places.startIndex + 1)
            guard isWhole else { return }
            try body(places[next], row)
            next += 1
        }
        return isWhole && next == places.endIndex
    }

    private func compare(
        _ row: Statement, _ place: Int, _ entity: LaneEntity, _ access: LaneStorage.CellAccess,
        _ uncertain: inout [Uncertain]
    ) throws {
        let arrival = arrivals[place]
        let keepsOldValues = keepsOldValues(arrival.entity)
        var found = LaneHistory.Row()
        let known = uncertain.count
        access.write.addRow()
        // The position of the key comes first.
        var index = Int32(1)
        for cell in entity.cells.indices where arrival.shown.contains(cell) {
            guard let fact = self.place(of: cell, arrival) else {
                throw SyncError(.internalFault, "the lane writes a cell that nothing states")
            }
            for (position, column) in entity.cells[cell].columns.enumerated() {
                let field = field(fact, position)
                try bind(field, to: access.write, at: index)
                let isSame = try isStored(
                    field, in: row, index, affinity: entity.table.affinities[column])
                if isSame == nil {
                    uncertain.append(
                        Uncertain(
                            place: place, index: index, column: column, former: row.value(index)))
                } else if isSame == false {
                    found.changed.insert(column)
                    if keepsOldValues { found.old.append((column, row.value(index))) }
                }
                index += 1
            }
        }
        guard !found.changed.isEmpty || uncertain.count > known else {
            return access.write.removeNewestRow()
        }
        bindKey(of: arrival, to: access.write, after: access.columnCount)
        history.rows[place] = found
    }

    private func keepsOldValues(_ entity: Int) -> Bool {
        tracked[entity]?.keepsOldValues ?? false
    }

    private func bindKey(of arrival: Arrival, to statement: RowStatement, after count: Int) {
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

    private func bind(_ field: FieldPlace, to statement: RowStatement, at index: Int32) throws {
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

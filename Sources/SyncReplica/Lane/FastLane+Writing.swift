import SyncMerge
import SyncStorage
import SyncValues

extension FastLane {
    /// Writes rows and objects.
    /// - Returns: false where SQLite refuses a row: then nothing is written.
    /// - Throws: SQLite errors. The transaction has to be rolled back then.
    /// - Complexity: O(facts of the slice)
    func write() throws -> Bool {
        // In the order in which the headers name them, and outside of the savepoint.
        for entry in fresh { _ = try storage.replicas.number(of: entry.header.dot.replica) }
        try readOldRows()
        try RawTransaction.execute("SAVEPOINT syncd_lane", on: storage.connection)
        var sums = [UInt128](repeating: 0, count: storage.schema.tables.count)
        let isWritten = try writeRows() && writeObjects(&sums)
        if !isWritten {
            try RawTransaction.execute("ROLLBACK TO syncd_lane", on: storage.connection)
        }
        try RawTransaction.execute("RELEASE syncd_lane", on: storage.connection)
        guard isWritten else {
            transaction.environment.tally.count(
                refused: [LaneReason.refused.rawValue: objectCount])
            return false
        }
        transaction.environment.tally.count(lane: arrivals.count)
        transaction.environment.tally.count(refused: refusalCounts)
        try keepChanges()
        for (entity, difference) in sums.enumerated() { storage.totals.add(difference, to: entity) }
        return true
    }

    private func writeRows() throws -> Bool {
        for arrival in arrivals {
            guard let entity = lane.entities[arrival.entity] else { return false }
            let cells = arrival.isNew ? arrival.cells : arrival.shown
            // A new row may have nothing but its number.
            if cells.isEmpty, !arrival.isNew { continue }
            let statement =
                arrival.isNew
                ? try lane.insert(into: entity) : try lane.update(cells, of: entity)
            if arrival.isNew, entity.isPrivate {
                statement.bind(arrival.number, at: Int32(entity.key[0] + 1))
            }
            var next = Int32(1)
            for cell in entity.cells.indices where cells.contains(cell) {
                guard let place = place(of: cell, arrival) else { return false }
                let versions = facts.versions[Int(place.group) - 2]
                for (column, spans) in zip(entity.cells[cell].columns, versions.values) {
                    try bind(
                        spans, Int(place.row), to: statement,
                        at: arrival.isNew ? Int32(column + 1) : next)
                    next += 1
                }
            }
            if !arrival.isNew {
                if entity.isPrivate {
                    statement.bind(arrival.number, at: next)
                } else {
                    for value in arrival.key {
                        statement.bind(value, at: next)
                        next += 1
                    }
                }
            }
            guard try statement.runUnlessRefused(), statement.changes == 1 else { return false }
        }
        return true
    }

    /// The fact of an object about a cell.
    func place(of cell: Int, _ arrival: Arrival) -> ArrivingFacts.Place? {
        order[arrival.facts].first {
            $0.group >= 2 && facts.versions[Int($0.group) - 2].cell == cell
        }
    }

    private func bind(
        _ spans: ValueSpans, _ row: Int, to statement: Statement, at index: Int32
    ) throws {
        let word = spans.words[row]
        switch spans.tags[row] {
        case .null: statement.bindNull(index)
        case .integer: statement.bind(Int64(bitPattern: word), at: index)
        case .real: statement.bind(Double(bitPattern: word), at: index)
        case .text, .blob:
            spans.bytes.withUnsafeBytes { bytes in
                let start = Int(word)
                let span = bytes[start..<start + Int(spans.lengths[row])]
                statement.bind(
                    UnsafeRawBufferPointer(rebasing: span), isText: spans.tags[row] == .text,
                    at: index)
            }
        case .reference: statement.bind(try target(Int(word))?.key ?? .null, at: index)
        }
    }

    private func writeObjects(_ sums: inout [UInt128]) throws -> Bool {
        var record = ByteWriter()
        var item = LaneItem(storage)
        for arrival in arrivals.sorted(by: { $0.uid < $1.uid }) where arrival.isRecordChanged {
            record.removeAll()
            let position = try write(arrival, to: &record)
            let isSummed = storage.totals.isKept(arrival.entity)
            if isSummed, !arrival.isNew {
                let former = records[arrival.record]
                sums[arrival.entity] &-= try former.withUnsafeBytes {
                    try item.hash($0, of: arrival.uid, entity: arrival.entity)
                }
            }
            if isSummed {
                sums[arrival.entity] &+= try record.bytes.withUnsafeBytes {
                    try item.hash($0, of: arrival.uid, entity: arrival.entity)
                }
            }
            guard try store(arrival, record.bytes, at: position) else { return false }
        }
        return true
    }

    private func store(
        _ arrival: Arrival, _ record: [UInt8], at position: Int64
    ) throws -> Bool {
        try storage.marks.remove(from: CollectionOfOne(arrival.uid))
        guard arrival.isNew else {
            lane.update.bind(arrival.id, at: 1)
            lane.update.bind(position, at: 2)
            lane.update.bind(record, at: 3)
            return try lane.update.runUnlessRefused()
        }
        lane.insert.bind(arrival.uid, at: 1)
        lane.insert.bind(storage.shapes.number(of: arrival.entity), at: 2)
        if arrival.key.isEmpty {
            lane.insert.bind(arrival.number, at: 3)
            lane.insert.bind(arrival.number, at: 4)
        } else {
            lane.insert.bind(StoredKey.value(of: arrival.key, as: .selfDescribing), at: 3)
            lane.insert.bindNull(4)
        }
        lane.insert.bind(position, at: 5)
        lane.insert.bind(record, at: 6)
        return try lane.insert.runUnlessRefused()
    }
}

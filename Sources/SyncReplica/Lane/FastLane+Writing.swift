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
        try RawTransaction.execute("SAVEPOINT syncd_lane", on: storage.connection)
        var sums = [UInt128](repeating: 0, count: storage.schema.tables.count)
        var isWritten = false
        defer { if !isWritten { lane.removeRows() } }
        isWritten = try writeRows() && writeObjects(&sums)
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
        keepChanges()
        for (entity, difference) in sums.enumerated() { storage.totals.add(difference, to: entity) }
        return true
    }

    private func writeObjects(_ sums: inout [UInt128]) throws -> Bool {
        var record = ByteWriter()
        var item = LaneItem(storage)
        for place in arrivals.indices.sorted(by: { arrivals[$0].uid < arrivals[$1].uid })
        where arrivals[place].isRecordChanged {
            let arrival = arrivals[place]
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
        return try lane.writing.store()
    }

    private func store(
        _ arrival: Arrival, _ record: [UInt8], at position: Int64
    ) throws -> Bool {
        try storage.marks.remove(from: CollectionOfOne(arrival.uid))
        guard arrival.isNew else {
            try lane.writing.replace(arrival.id, place: position, record: record)
            return true
        }
        if arrival.takesNumber {
            try storage.objects.takeNumber(
                arrival.number, entity: arrival.entity, for: arrival.uid)
        }
        let hasNumber = arrival.key.isEmpty
        return try lane.writing.insert(
            arrival.uid, shape: storage.shapes.number(of: arrival.entity),
            key: hasNumber
                ? .integer(arrival.number)
                : StoredKey.value(of: arrival.key, as: .selfDescribing),
            number: hasNumber ? .integer(arrival.number) : .null, place: position, record: record)
    }
}

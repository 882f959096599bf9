import SyncValues

/// The transactions of a batch and what they changed, column by column.
enum TransactionColumns {
    // MARK: Writing

    static func write(
        _ transactions: [Batch.Transaction], tables: BatchTables, to content: inout ByteWriter
    ) {
        let runs = writeRuns(of: transactions, tables: tables, to: &content)
        content.append(varint: UInt64(transactions.count))
        func column(_ append: (inout ByteWriter, Batch.Transaction) -> Void) {
            var writer = ByteWriter()
            for transaction in transactions { append(&writer, transaction) }
            content.append(counted: writer.bytes)
        }
        func text(_ text: @escaping (Batch.Transaction) -> String?) {
            column { $0.append(varint: text($1).map { UInt64(tables.place(of: $0)) + 1 } ?? 0) }
        }
        column { $0.append(varint: UInt64(tables.place(of: $1.header.dot.replica))) }
        var newest: [ReplicaID: Int64] = [:]
        column { writer, transaction in
            let dot = transaction.header.dot
            writer.append(signed: dot.number &- (newest[dot.replica] ?? 0))
            newest[dot.replica] = dot.number
        }
        column { $0.append(varint: UInt64($1.header.dot.number - $1.header.ownSeen)) }
        column { $0.append(varint: UInt64(runs[$1.header.others] ?? 0)) }
        var last: UInt64 = 0
        column { writer, transaction in
            let time = transaction.header.time.rawValue
            writer.append(signed: Int64(bitPattern: time &- last))
            last = time
        }
        text(\.author)
        text(\.context)
        text(\.process)
        column { $0.append(varint: $1.pid.map { _ in 1 } ?? 0) }
        column { writer, transaction in transaction.pid.map { writer.append(signed: $0) } }
        column { $0.append(varint: $1.flags) }
        column { $0.append(varint: UInt64($1.changes.count)) }
        writeChanges(of: transactions, tables: tables, to: &content)
    }

    /// Writes runs: all transactions between two merges have the same vector of all *other*
    /// replicas.
    private static func writeRuns(
        of transactions: [Batch.Transaction], tables: BatchTables, to content: inout ByteWriter
    ) -> [VersionVector: Int] {
        var runs: [VersionVector: Int] = [:]
        var order: [VersionVector] = []
        for transaction in transactions where runs[transaction.header.others] == nil {
            runs[transaction.header.others] = order.count
            order.append(transaction.header.others)
        }
        content.append(varint: UInt64(order.count))
        for run in order {
            content.append(varint: UInt64(run.entries.count))
            for entry in run.entries {
                content.append(varint: UInt64(tables.place(of: entry.replica)))
                content.append(varint: UInt64(entry.number))
            }
        }
        return runs
    }

    private static func writeChanges(
        of transactions: [Batch.Transaction], tables: BatchTables, to content: inout ByteWriter
    ) {
        var objects = DeltaColumn()
        var kinds = ByteWriter()
        var counts = ByteWriter()
        var cells = ByteWriter()
        for (change, place) in zip(transactions.lazy.flatMap(\.changes), tables.placesOfChanges) {
            objects.append(Int64(place))
            kinds.append(varint: UInt64(change.entity) << 2 | UInt64(change.kind.rawValue))
            counts.append(varint: UInt64(change.cells.count))
            for cell in change.cells { cells.append(varint: UInt64(cell)) }
        }
        for column in [objects.writer, kinds, counts, cells] {
            content.append(counted: column.bytes)
        }
    }

    // MARK: Reading

    static func read(
        from reader: inout ByteReader, tables: BatchTables
    ) throws -> [Batch.Transaction] {
        let runs = try readRuns(from: &reader, tables: tables)
        let count = try reader.countOfRest(atMost: BatchLimits.transactionsMax)
        let headers = try readHeaders(from: &reader, count: count, runs: runs, tables: tables)
        func texts() throws -> [String?] {
            try readColumn(from: &reader, count: count) { column in
                let place = try column.index(below: tables.texts.count + 1)
                return place == 0 ? nil : tables.texts[place - 1]
            }
        }
        let (authors, contexts, processes) = (try texts(), try texts(), try texts())
        let hasPid = try readColumn(from: &reader, count: count) { try $0.index(below: 2) == 1 }
        var pidColumn = try reader.column()
        let pids = try hasPid.map { $0 ? try pidColumn.signed() : nil }
        try pidColumn.finish()
        let flags = try readColumn(from: &reader, count: count) { try $0.varint() }
        let changeCounts = try readColumn(from: &reader, count: count) {
            try $0.count(atMost: BatchLimits.factsMax)
        }
        let total = changeCounts.reduce(0, +)
        guard total <= BatchLimits.factsMax else {
            throw SyncError(.badData, "\(total) changes are beyond the limit")
        }
        var changes = try readChanges(from: &reader, count: total, tables: tables)[...]
        return headers.indices.map { index in
            defer { changes = changes.dropFirst(changeCounts[index]) }
            return Batch.Transaction(
                headers[index], author: authors[index], context: contexts[index],
                process: processes[index], pid: pids[index], flags: flags[index],
                changes: Array(changes.prefix(changeCounts[index])))
        }
    }

    private static func readColumn<Item>(
        from reader: inout ByteReader, count: Int, next: (inout ByteReader) throws -> Item
    ) throws -> [Item] {
        var column = try reader.column()
        guard count <= column.remaining else {
            throw SyncError(.badData, "a column ends too soon")
        }
        var items: [Item] = []
        items.reserveCapacity(count)
        for _ in 0..<count { items.append(try next(&column)) }
        try column.finish()
        return items
    }

    private static func readRuns(
        from reader: inout ByteReader, tables: BatchTables
    ) throws -> [VersionVector] {
        var runs: [VersionVector] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.transactionsMax)) {
            var run = VersionVector()
            for _ in 0..<(try reader.countOfRest(atMost: tables.replicas.count)) {
                let replica = tables.replicas[try reader.index(below: tables.replicas.count)]
                run.advance(to: Dot(replica, try number(try reader.varint())))
            }
            runs.append(run)
        }
        return runs
    }

    private static func readHeaders(
        from reader: inout ByteReader, count: Int, runs: [VersionVector], tables: BatchTables
    ) throws -> [TransactionHeader] {
        let replicas = try readColumn(from: &reader, count: count) {
            tables.replicas[try $0.index(below: tables.replicas.count)]
        }
        var newest: [ReplicaID: Int64] = [:]
        var position = 0
        let dots = try readColumn(from: &reader, count: count) { column in
            let replica = replicas[position]
            position += 1
            let sum = (newest[replica] ?? 0).addingReportingOverflow(try column.signed())
            guard !sum.overflow, sum.partialValue > 0 else { throw outOfRange }
            newest[replica] = sum.partialValue
            return Dot(replica, sum.partialValue)
        }
        let gaps = try readColumn(from: &reader, count: count) { try number(try $0.varint()) }
        let seen = try readColumn(from: &reader, count: count) {
            runs[try $0.index(below: runs.count)]
        }
        var last: UInt64 = 0
        let times = try readColumn(from: &reader, count: count) { column in
            last = last &+ UInt64(bitPattern: try column.signed())
            return HybridTime(rawValue: last)
        }
        return try dots.indices.map { index in
            guard gaps[index] <= dots[index].number else { throw outOfRange }
            var vector = seen[index]
            vector.advance(to: Dot(dots[index].replica, dots[index].number - gaps[index]))
            return TransactionHeader(dots[index], time: times[index], seen: vector)
        }
    }

    private static func readChanges(
        from reader: inout ByteReader, count: Int, tables: BatchTables
    ) throws -> [Batch.Change] {
        var objects = DeltaReader(try reader.column())
        var kinds = try reader.column()
        var counts = try reader.column()
        var cells = try reader.column()
        var changes: [Batch.Change] = []
        changes.reserveCapacity(min(count, kinds.remaining))
        var written: [Int] = []
        for _ in 0..<count {
            let object = tables.objects[try objects.index(below: tables.objects.count)]
            let packed = try kinds.varint()
            guard packed >> 2 < UInt64(tables.entities.count),
                let kind = ChangeKind(rawValue: Int(packed & 3))
            else { throw SyncError(.badData, "unknown kind of change") }
            let entity = Int(packed >> 2)
            let limit = tables.entities[entity].cells.count
            written = try cells.cells(
                try counts.count(atMost: limit), below: limit, after: written)
            changes.append(Batch.Change(object, entity: entity, kind: kind, cells: written))
        }
        for column in [objects.reader, kinds, counts, cells] { try column.finish() }
        return changes
    }

    private static func number(_ raw: UInt64) throws -> Int64 {
        guard raw > 0, let number = Int64(exactly: raw) else { throw outOfRange }
        return number
    }

    private static var outOfRange: SyncError {
        SyncError(.badData, "a transaction's number is out of range")
    }
}

extension TransactionHeader {
    /// What the writer had merged of its own transactions: the number of the one before.
    fileprivate var ownSeen: Int64 { seen[dot.replica] }

    /// What it had merged of all others.
    fileprivate var others: VersionVector {
        VersionVector(seen.entries.filter { $0.replica != dot.replica })
    }
}

import SyncValues

/// The facts of a batch: lives, aliases, then for each cell of each entity its versions, column by
/// column.
enum FactColumns {
    private struct Group: Hashable, Comparable {
        let entity: Int
        let cell: Int

        static func < (left: Group, right: Group) -> Bool {
            (left.entity, left.cell) < (right.entity, right.cell)
        }
    }

    // MARK: Writing

    static func write(_ batch: Batch, tables: BatchTables, to content: inout ByteWriter) {
        if let columns = batch.arriving, columns.hasDistinctGroups {
            FactColumnWriter(columns, range: batch.arrivingRange, tables: tables).write(
                to: &content)
        } else {
            write(batch.facts, tables: tables, to: &content)
        }
    }

    private static func write(_ facts: [Fact], tables: BatchTables, to content: inout ByteWriter) {
        var lives: [(object: Int, entity: Int, life: Life)] = []
        var aliases: [(first: Int, second: Int, dot: Dot)] = []
        var groups: [Group: [(object: Int, version: Version)]] = [:]
        for fact in facts {
            switch fact {
            case .life(let uid, let entity, let life):
                lives.append((tables.place(of: uid), entity, life))
            case .alias(let first, let second, let dot):
                aliases.append((tables.place(of: first), tables.place(of: second), dot))
            case .cell(let uid, let entity, let cell, let version):
                groups[Group(entity: entity, cell: cell), default: []]
                    .append((tables.place(of: uid), version))
            }
        }
        write(
            lives.sorted { ($0.object, $0.life.dot) < ($1.object, $1.life.dot) }, tables: tables,
            to: &content)
        write(
            aliases.sorted { ($0.first, $0.second) < ($1.first, $1.second) }, tables: tables,
            to: &content)
        content.append(varint: UInt64(groups.count))
        for (group, versions) in groups.sorted(by: { $0.key < $1.key }) {
            content.append(varint: UInt64(group.entity))
            content.append(varint: UInt64(group.cell))
            write(
                versions.sorted { ($0.object, $0.version.dot) < ($1.object, $1.version.dot) },
                width: tables.entities[group.entity].cells[group.cell].count, tables: tables,
                to: &content)
        }
    }

    private static func write(
        _ lives: [(object: Int, entity: Int, life: Life)], tables: BatchTables,
        to content: inout ByteWriter
    ) {
        content.append(varint: UInt64(lives.count))
        var objects = DeltaColumn()
        var kinds = ByteWriter()
        var dots = DotColumn()
        var incarnations = ByteWriter()
        for (object, entity, life) in lives {
            objects.append(Int64(object))
            kinds.append(varint: UInt64(entity) << 2 | UInt64(life.kind.rawValue))
            dots.append(life.dot, tables: tables)
            incarnations.append(varint: UInt64(life.incarnation))
        }
        for column in [objects.writer, kinds] + dots.columns + [incarnations] {
            content.append(counted: column.bytes)
        }
    }

    private static func write(
        _ aliases: [(first: Int, second: Int, dot: Dot)], tables: BatchTables,
        to content: inout ByteWriter
    ) {
        content.append(varint: UInt64(aliases.count))
        var first = DeltaColumn()
        var second = DeltaColumn()
        var dots = DotColumn()
        for alias in aliases {
            first.append(Int64(alias.first))
            second.append(Int64(alias.second))
            dots.append(alias.dot, tables: tables)
        }
        for column in [first.writer, second.writer] + dots.columns {
            content.append(counted: column.bytes)
        }
    }

    private static func write(
        _ versions: [(object: Int, version: Version)], width: Int, tables: BatchTables,
        to content: inout ByteWriter
    ) {
        content.append(varint: UInt64(versions.count))
        var objects = DeltaColumn()
        var dots = DotColumn()
        var incarnations = ByteWriter()
        var values = Array(repeating: ValueColumn(), count: width)
        for (object, version) in versions {
            objects.append(Int64(object))
            dots.append(version.dot, tables: tables)
            incarnations.append(varint: UInt64(version.incarnation))
            for (column, field) in version.value.enumerated() {
                values[column].append(field, tables: tables)
            }
        }
        for column in [objects.writer] + dots.columns + [incarnations] {
            content.append(counted: column.bytes)
        }
        for column in values { column.write(to: &content) }
    }

    // MARK: Reading

    /// Reads the facts of a batch.
    /// - Parameter dots: the transactions of the batch: no fact of another one is accepted.
    static func read(
        from reader: inout ByteReader, tables: BatchTables, dots: [Dot]
    ) throws -> ArrivingFacts {
        let numbers = TransactionNumbers(dots, replicas: tables.replicas)
        let lives = try readLives(from: &reader, tables: tables, numbers: numbers)
        let aliases = try readAliases(from: &reader, tables: tables, numbers: numbers)
        var count = lives.objects.count + aliases.first.count
        var groups: [ArrivingFacts.Versions] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.factsMax)) {
            let entity = try reader.index(below: tables.entities.count)
            let cell = try reader.index(below: tables.entities[entity].cells.count)
            let versions = try readVersions(
                of: Group(entity: entity, cell: cell), from: &reader, tables: tables,
                numbers: numbers, countMax: BatchLimits.factsMax - count)
            count += versions.objects.count
            groups.append(versions)
        }
        return ArrivingFacts(
            objects: tables.objects, dots: dots, lives: lives, aliases: aliases, versions: groups)
    }

    private static func readLives(
        from reader: inout ByteReader, tables: BatchTables, numbers: TransactionNumbers
    ) throws -> ArrivingFacts.Lives {
        let count = try reader.countOfRest(atMost: BatchLimits.factsMax)
        var objects = DeltaReader(try reader.column())
        var kinds = try reader.column()
        var dots = try DotReader(&reader, numbers)
        var incarnations = try reader.column()
        var lives = ArrivingFacts.Lives()
        for _ in 0..<count {
            lives.objects.append(Int32(try objects.index(below: tables.objects.count)))
            let packed = try kinds.varint()
            guard packed >> 2 < UInt64(tables.entities.count),
                let kind = LifeKind(rawValue: UInt8(packed & 3))
            else { throw SyncError(.badData, "unknown kind of life") }
            lives.entities.append(Int32(packed >> 2))
            lives.kinds.append(kind)
            lives.transactions.append(try dots.next())
            lives.incarnations.append(try incarnation(&incarnations))
        }
        for column in [objects.reader, kinds, incarnations] { try column.finish() }
        try dots.finish()
        return lives
    }

    private static func readAliases(
        from reader: inout ByteReader, tables: BatchTables, numbers: TransactionNumbers
    ) throws -> ArrivingFacts.Aliases {
        let count = try reader.countOfRest(atMost: BatchLimits.factsMax)
        var first = DeltaReader(try reader.column())
        var second = DeltaReader(try reader.column())
        var dots = try DotReader(&reader, numbers)
        var aliases = ArrivingFacts.Aliases()
        for _ in 0..<count {
            let left = Int32(try first.index(below: tables.objects.count))
            let right = Int32(try second.index(below: tables.objects.count))
            guard left != right, tables.objects[Int(left)] != tables.objects[Int(right)] else {
                throw SyncError(.badData, "an alias of one object")
            }
            aliases.first.append(left)
            aliases.second.append(right)
            aliases.transactions.append(try dots.next())
        }
        for column in [first.reader, second.reader] { try column.finish() }
        try dots.finish()
        return aliases
    }

    private static func readVersions(
        of group: Group, from reader: inout ByteReader, tables: BatchTables,
        numbers: TransactionNumbers, countMax: Int
    ) throws -> ArrivingFacts.Versions {
        let count = try reader.countOfRest(atMost: countMax)
        var objects = DeltaReader(try reader.column())
        var dots = try DotReader(&reader, numbers)
        var incarnations = try reader.column()
        var versions = ArrivingFacts.Versions(entity: group.entity, cell: group.cell)
        versions.values = try tables.entities[group.entity].cells[group.cell].map { _ in
            try ValueSpans(from: &reader, count: count, objectCount: tables.objects.count)
        }
        versions.objects.reserveCapacity(count)
        versions.transactions.reserveCapacity(count)
        versions.incarnations.reserveCapacity(count)
        for _ in 0..<count {
            versions.objects.append(Int32(try objects.index(below: tables.objects.count)))
            versions.transactions.append(try dots.next())
            versions.incarnations.append(try incarnation(&incarnations))
        }
        for column in [objects.reader, incarnations] { try column.finish() }
        try dots.finish()
        return versions
    }

    private static func incarnation(_ reader: inout ByteReader) throws -> Int32 {
        let incarnation = try reader.count(atMost: Life.incarnationMax)
        guard incarnation > 0 else { throw SyncError(.badData, "incarnations begin with 1") }
        return Int32(incarnation)
    }
}

/// A column of dots: replicas, and numbers as differences.
struct DotColumn {
    private var replicas = ByteWriter()
    private var numbers = DeltaColumn()

    mutating func append(_ dot: Dot, tables: BatchTables) {
        replicas.append(varint: UInt64(tables.place(of: dot.replica)))
        numbers.append(dot.number)
    }

    /// - Parameter place: the position of the replica.
    mutating func append(_ number: Int64, of place: Int) {
        replicas.append(varint: UInt64(place))
        numbers.append(number)
    }

    var columns: [ByteWriter] { [replicas, numbers.writer] }
}

/// Finds the transactions of a batch by their names.
private struct TransactionNumbers {
    /// By position of a replica: its transactions of the batch, by ascending number.
    private let transactions: [[(number: Int64, place: Int32)]]

    init(_ dots: [Dot], replicas: [ReplicaID]) {
        var places: [ReplicaID: Int] = [:]
        for (place, replica) in replicas.enumerated() { places[replica] = place }
        var transactions: [[(number: Int64, place: Int32)]] = replicas.map { _ in [] }
        for (place, dot) in dots.enumerated() {
            places[dot.replica].map { transactions[$0].append((dot.number, Int32(place))) }
        }
        // A replica that the table names twice has its transactions under both.
        for (place, replica) in replicas.enumerated() {
            guard let last = places[replica], last != place else { continue }
            transactions[place] = transactions[last]
        }
        self.transactions = transactions.map { $0.sorted { $0.number < $1.number } }
    }

    var replicaCount: Int { transactions.count }

    /// - Parameter hint: where the last one was found: facts are in the order of their objects, and
    ///   so mostly in that of their transactions.
    func place(of number: Int64, replica: Int, hint: inout Int) -> Int32? {
        let known = transactions[replica]
        if hint < known.count, known[hint].number == number { return known[hint].place }
        var (low, high) = (0, known.count)
        while low < high {
            let middle = (low + high) / 2
            if known[middle].number < number { low = middle + 1 } else { high = middle }
        }
        guard low < known.count, known[low].number == number else { return nil }
        hint = low
        return known[low].place
    }
}

/// Reads what ``DotColumn`` wrote.
private struct DotReader {
    private var replicas: ByteReader
    private var numbers: DeltaReader
    private let transactions: TransactionNumbers
    private var hint = 0

    init(_ reader: inout ByteReader, _ transactions: TransactionNumbers) throws {
        replicas = try reader.column()
        numbers = DeltaReader(try reader.column())
        self.transactions = transactions
    }

    /// The position of the next fact's transaction.
    mutating func next() throws -> Int32 {
        let replica = try replicas.index(below: transactions.replicaCount)
        let number = try numbers.next()
        guard let place = transactions.place(of: number, replica: replica, hint: &hint) else {
            throw SyncError(.badData, "a fact of a transaction that is not in the batch")
        }
        return place
    }

    func finish() throws {
        try replicas.finish()
        try numbers.reader.finish()
    }
}

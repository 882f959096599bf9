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

    static func write(_ facts: [Fact], tables: BatchTables, to content: inout ByteWriter) {
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
    ) throws -> [Fact] {
        let known = Set(dots)
        var facts: [Fact] = []
        try readLives(from: &reader, tables: tables, known: known, into: &facts)
        try readAliases(from: &reader, tables: tables, known: known, into: &facts)
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.factsMax)) {
            let entity = try reader.index(below: tables.entities.count)
            let cell = try reader.index(below: tables.entities[entity].cells.count)
            try readVersions(
                of: Group(entity: entity, cell: cell), from: &reader, tables: tables, known: known,
                into: &facts)
        }
        return facts
    }

    private static func readLives(
        from reader: inout ByteReader, tables: BatchTables, known: Set<Dot>,
        into facts: inout [Fact]
    ) throws {
        let count = try reader.countOfRest(atMost: BatchLimits.factsMax - facts.count)
        var objects = DeltaReader(try reader.column())
        var kinds = try reader.column()
        var dots = try DotReader(&reader)
        var incarnations = try reader.column()
        for _ in 0..<count {
            let uid = tables.objects[try objects.index(below: tables.objects.count)]
            let packed = try kinds.varint()
            guard packed >> 2 < UInt64(tables.entities.count),
                let kind = LifeKind(rawValue: UInt8(packed & 3))
            else { throw SyncError(.badData, "unknown kind of life") }
            let dot = try dots.next(tables: tables, known: known)
            let life = Life(dot, kind: kind, incarnation: try incarnation(&incarnations))
            facts.append(.life(uid, entity: Int(packed >> 2), life))
        }
        for column in [objects.reader, kinds, incarnations] { try column.finish() }
        try dots.finish()
    }

    private static func readAliases(
        from reader: inout ByteReader, tables: BatchTables, known: Set<Dot>,
        into facts: inout [Fact]
    ) throws {
        let count = try reader.countOfRest(atMost: BatchLimits.factsMax - facts.count)
        var first = DeltaReader(try reader.column())
        var second = DeltaReader(try reader.column())
        var dots = try DotReader(&reader)
        for _ in 0..<count {
            let left = tables.objects[try first.index(below: tables.objects.count)]
            let right = tables.objects[try second.index(below: tables.objects.count)]
            guard left != right else { throw SyncError(.badData, "an alias of one object") }
            facts.append(.alias(left, right, try dots.next(tables: tables, known: known)))
        }
        for column in [first.reader, second.reader] { try column.finish() }
        try dots.finish()
    }

    private static func readVersions(
        of group: Group, from reader: inout ByteReader, tables: BatchTables, known: Set<Dot>,
        into facts: inout [Fact]
    ) throws {
        let count = try reader.countOfRest(atMost: BatchLimits.factsMax - facts.count)
        var objects = DeltaReader(try reader.column())
        var dots = try DotReader(&reader)
        var incarnations = try reader.column()
        let columns = try tables.entities[group.entity].cells[group.cell].map { _ in
            try ValueColumn.read(from: &reader, count: count, tables: tables)
        }
        for row in 0..<count {
            let uid = tables.objects[try objects.index(below: tables.objects.count)]
            let version = Version(
                try dots.next(tables: tables, known: known),
                incarnation: try incarnation(&incarnations),
                value: columns.map { $0[row] })
            facts.append(.cell(uid, entity: group.entity, cell: group.cell, version))
        }
        for column in [objects.reader, incarnations] { try column.finish() }
        try dots.finish()
    }

    private static func incarnation(_ reader: inout ByteReader) throws -> Int {
        let incarnation = try reader.count(atMost: Life.incarnationMax)
        guard incarnation > 0 else { throw SyncError(.badData, "incarnations begin with 1") }
        return incarnation
    }
}

/// A column of dots: replicas, and numbers as differences.
private struct DotColumn {
    private var replicas = ByteWriter()
    private var numbers = DeltaColumn()

    mutating func append(_ dot: Dot, tables: BatchTables) {
        replicas.append(varint: UInt64(tables.place(of: dot.replica)))
        numbers.append(dot.number)
    }

    var columns: [ByteWriter] { [replicas, numbers.writer] }
}

/// Reads what ``DotColumn`` wrote.
private struct DotReader {
    private var replicas: ByteReader
    private var numbers: DeltaReader

    init(_ reader: inout ByteReader) throws {
        replicas = try reader.column()
        numbers = DeltaReader(try reader.column())
    }

    mutating func next(tables: BatchTables, known: Set<Dot>) throws -> Dot {
        let replica = tables.replicas[try replicas.index(below: tables.replicas.count)]
        let dot = Dot(replica, try numbers.next())
        guard known.contains(dot) else {
            throw SyncError(.badData, "a fact of a transaction that is not in the batch")
        }
        return dot
    }

    func finish() throws {
        try replicas.finish()
        try numbers.reader.finish()
    }
}

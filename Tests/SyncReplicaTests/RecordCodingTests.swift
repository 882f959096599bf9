import SyncTesting
import Testing

@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// `syncd_object.record`: one form for given facts, and two that are read.
@Suite("The coding of records")
struct RecordCodingTests {
    private static let replicas: [ReplicaID] = (1...3).map { ReplicaID(high: 9, low: $0) }
    private let connection: PlainConnection
    private let names: ReplicaNames

    init() throws {
        connection = try PlainConnection(":memory:")
        try connection.run(
            """
            CREATE TABLE syncd_replica(id INTEGER PRIMARY KEY, replica BLOB, merged INTEGER);
            CREATE TABLE syncd_header(replica INTEGER)
            """)
        names = try ReplicaNames(connection.handle)
        for replica in Self.replicas { _ = try names.number(of: replica) }
    }

    private static func record(
        _ life: [Life], _ cells: [[Version]]
    ) -> ObjectRecord {
        var record = ObjectRecord(entity: 0, cellCount: cells.count)
        record.life = life
        record.cells = cells
        return record
    }

    private static func dot(_ replica: Int, _ number: Int64) -> Dot {
        Dot(replicas[replica], number)
    }

    private static let created = Life(dot(0, 6), kind: .created, incarnation: 1)

    private static func version(
        _ number: Int64, incarnation: Int = 1, _ value: Value = .null
    ) -> Version {
        Version(dot(0, number), incarnation: incarnation, value: [.value(value)])
    }

    // MARK: Forms

    @Test("a record with one life and one version of each cell is compact")
    func compact() throws {
        let values: [Value] = [.integer(1), .null, .text("a")]
        let same = Self.record([Self.created], values.map { [Self.version(6, $0)] })
        #expect(
            try RecordCoding.encode(same, replicas: names) == [1, 3, 1, 6, 1, 2, 0, 3, 1, 0x61])
        var other = same
        other.cells[1] = [Self.version(7, .null)]
        #expect(
            try RecordCoding.encode(other, replicas: names)
                == [1, 3 + 4 * 2, 1, 6, 1, 2, 1, 7, 0, 3, 1, 0x61])
        let none = Self.record([Self.created], [])
        #expect(try RecordCoding.encode(none, replicas: names) == [1, 3, 1, 6])
    }

    @Test("any other record is not")
    func long() throws {
        let cells = [[Self.version(6)], [Self.version(6)]]
        let lives: [[Life]] = [
            [], [Life(Self.dot(0, 6), kind: .deleted, incarnation: 1)],
            [Life(Self.dot(0, 6), kind: .created, incarnation: 2)],
            [Life(Self.dot(0, 6), kind: .revived, incarnation: 1)],
            [Self.created, Life(Self.dot(1, 6), kind: .created, incarnation: 1)],
        ]
        var others = lives.map { Self.record($0, cells) }
        for cell in [[], [Self.version(6), Self.version(7)], [Self.version(6, incarnation: 2)]] {
            others.append(Self.record([Self.created], [[Self.version(6)], cell]))
        }
        for record in others {
            let bytes = try RecordCoding.encode(record, replicas: names)
            #expect(bytes == longForm(of: record))
            try requireRead(bytes, as: record)
        }
    }

    @Test("the mask has room for 62 cells", arguments: [61, 62, 63, 64, 80])
    func mask(place: Int) throws {
        var record = Self.record(
            [Self.created], Array(repeating: [Self.version(6)], count: 81))
        #expect(try RecordCoding.encode(record, replicas: names).count == 4 + 81)
        record.cells[place] = [Self.version(7)]
        let bytes = try RecordCoding.encode(record, replicas: names)
        #expect((bytes == longForm(of: record)) == (place >= 62))
        try requireRead(bytes, as: record)
    }

    @Test("what is written is read, in both forms", arguments: [UInt64(71)])
    func roundTrip(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var compactCount = 0
        for round in 0..<2_000 {
            let record = Self.randomRecord(&random)
            let bytes = try RecordCoding.encode(record, replicas: names)
            let long = longForm(of: record)
            try requireRead(bytes, as: record, "seed \(seed), round \(round)")
            try requireRead(long, as: record, "seed \(seed), round \(round), long")
            if bytes != long { compactCount += 1 }
        }
        #expect(compactCount > 200)
    }

    /// Checks all readers.
    private func requireRead(
        _ bytes: [UInt8], as record: ObjectRecord, _ comment: Comment? = nil
    ) throws {
        let widths = record.cells.map { $0.first?.value.count ?? 1 }
        let decoded = try RecordCoding.decode(bytes, entity: 0, widths: widths, replicas: names)
        #expect(decoded == record, comment)
        let encoded = try RecordCoding.encode(record, replicas: names)
        #expect(try RecordCoding.encode(decoded, replicas: names) == encoded, comment)
        var parsed = LaneRecord()
        var outgoing = OutgoingRecord()
        var whole = ByteWriter()
        try bytes.withUnsafeBytes { bytes in
            let isRead = parsed.read(bytes, widths: widths)
            #expect(isRead, comment)
            try outgoing.read(bytes, widths: widths)
            outgoing.write(Array(outgoing.facts.indices), of: bytes, to: &whole)
        }
        #expect(whole.bytes == longForm(of: record), comment)
        #expect(parsed.hasParts == record.hasParts, comment)
        #expect(parsed.lifeCount == record.life.count, comment)
        if let life = record.life.first {
            #expect(
                parsed.lifeKind == life.kind.rawValue && parsed.lifeDot == stored(life.dot)
                    && parsed.lifeIncarnation == life.incarnation, comment)
        }
        for (cell, versions) in zip(parsed.cells, record.cells) {
            #expect(cell.count == versions.count, comment)
            guard let first = versions.first else { continue }
            #expect(
                cell.dot == stored(first.dot) && cell.incarnation == first.incarnation, comment)
            var reader = ByteReader(Array(bytes[cell.fields...]))
            let fields = try first.value.map { _ in try RecordCoding.field(from: &reader) }
            #expect(fields == first.value, comment)
        }
    }

    private func stored(_ dot: Dot) -> RecordDot {
        RecordDot(replica: names.numbers[dot.replica] ?? 0, number: dot.number)
    }

    /// As versions before compact records wrote all of them.
    private func longForm(of record: ObjectRecord) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(varint: UInt64(record.life.count))
        for life in record.life {
            writer.append(byte: life.kind.rawValue)
            writer.append(varint: UInt64(life.incarnation))
            writer.append(stored(life.dot))
        }
        writer.append(varint: UInt64(record.cells.count))
        for versions in record.cells {
            writer.append(varint: UInt64(versions.count))
            for version in versions {
                writer.append(version: stored(version.dot), incarnation: version.incarnation)
                for field in version.value { RecordCoding.append(field, to: &writer) }
            }
        }
        return writer.bytes
    }

    // MARK: Random records

    private static func randomRecord(_ random: inout SeededRandom) -> ObjectRecord {
        let isSimple = random.chance(0.5)
        let count = random.once(in: 4) ? random.below(90) : random.below(6)
        let first = randomDot(&random)
        var life = [Life(first, kind: .created, incarnation: 1)]
        if !isSimple {
            life = (0..<random.below(3)).map { _ in
                Life(
                    randomDot(&random), kind: random.pick([.created, .deleted, .revived]),
                    incarnation: 1 + random.below(3))
            }
        }
        let others = random.pick([0, 0.1, 1])
        let cells = (0..<count).map { _ in
            let width = 1 + random.below(3)
            return (0..<(isSimple ? 1 : random.below(3))).map { _ in
                var value = (0..<width).map { _ in randomField(&random) }
                if width > 1, random.chance(0.1) { value[random.below(width)] = .unstated }
                return Version(
                    random.chance(others) ? randomDot(&random) : first,
                    incarnation: isSimple ? 1 : 1 + random.below(2), value: value)
            }
        }
        return record(life, cells)
    }

    private static func randomDot(_ random: inout SeededRandom) -> Dot {
        dot(random.below(3), Int64(random.pick([1, 6, 127, 128, 1 << 20, 1 << 40])))
    }

    private static func randomField(_ random: inout SeededRandom) -> Field {
        switch random.below(6) {
        case 0: .value(.null)
        case 1: .value(.integer(Int64(bitPattern: random.next())))
        case 2: .value(.real(Double(random.below(1000)) / 8))
        case 3: .value(.text(String(repeating: "x", count: random.below(200))))
        case 4: .value(.blob([3, 3, 3]))
        default: .reference(ObjectUID(high: random.next(), low: 3), part: random.below(3))
        }
    }

    // MARK: Damage

    @Test("a mask that names more cells than there are is no record")
    func maskBeyondTheCells() throws {
        try requireRefused([1, 3 + 4 * 2, 1, 6, 0], widths: [1])
        try requireRefused([1, 3 + 4, 1, 6], widths: [])
        let greatest = [UInt8](repeating: 0xFF, count: 9) + [1]
        try requireRefused([1] + greatest + [1, 6, 0], widths: [1])
    }

    @Test("compact bytes that end too soon, or go on, are no record")
    func length() throws {
        let record = Self.record(
            [Self.created], [[Self.version(6, .text("ab"))], [Self.version(7, .real(1))]])
        let bytes = try RecordCoding.encode(record, replicas: names)
        for count in bytes.indices {
            try requireRefused(Array(bytes.prefix(count)), widths: [1, 1])
        }
        try requireRefused(bytes + [0], widths: [1, 1])
        try requireRefused(bytes, widths: [1])
        try requireRefused(bytes, widths: [1, 1, 1])
    }

    private func requireRefused(_ bytes: [UInt8], widths: [Int]) throws {
        #expect(throws: SyncError(.badData, "")) {
            try RecordCoding.decode(bytes, entity: 0, widths: widths, replicas: names)
        }
        bytes.withUnsafeBytes { bytes in
            var parsed = LaneRecord()
            let isRead = parsed.read(bytes, widths: widths)
            #expect(!isRead)
            var outgoing = OutgoingRecord()
            #expect(throws: SyncError(.badData, "")) { try outgoing.read(bytes, widths: widths) }
            var facts = OutgoingFacts(of: [Self.dot(0, 6)], numbers: names.numbers)
            let uid = ObjectUID(high: 1, low: 1)
            #expect(throws: SyncError(.badData, "")) {
                try facts.add(.init(uid: uid, entity: 0, number: nil, bytes: bytes), widths: widths)
            }
        }
    }

    @Test("damaged bytes are refused, or read as another record", arguments: [UInt64(72)])
    func damage(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<3_000 {
            let record = Self.randomRecord(&random)
            let widths = record.cells.map { $0.first?.value.count ?? 1 }
            var bytes = try RecordCoding.encode(record, replicas: names)
            for _ in 0...random.below(3) {
                let place = random.once(in: 2) ? random.below(min(bytes.count, 6)) : 0
                bytes[max(place, random.below(bytes.count))] = UInt8(random.below(256))
            }
            bytes.withUnsafeBytes { bytes in
                var parsed = LaneRecord()
                var outgoing = OutgoingRecord()
                var facts = OutgoingFacts(of: [Self.dot(0, 6)], numbers: names.numbers)
                let isRead = parsed.read(bytes, widths: widths)
                let isOutgoing = (try? outgoing.read(bytes, widths: widths)) != nil
                #expect(isRead == isOutgoing, "seed \(seed), round \(round)")
                try? facts.add(
                    .init(uid: ObjectUID(high: 1, low: 1), entity: 0, number: nil, bytes: bytes),
                    widths: widths)
            }
            _ = try? RecordCoding.decode(bytes, entity: 0, widths: widths, replicas: names)
        }
    }
}

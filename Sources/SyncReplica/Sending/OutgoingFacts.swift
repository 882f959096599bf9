import SyncMerge
import SyncStorage
import SyncValues

/// Collects facts for batches in columns: those of stored records from their bytes, without an
/// object for each of them.
struct OutgoingFacts {
    /// The private numbers of objects, by position among ``objects``; nil: it has none.
    private(set) var numbers: [Int64?] = []

    private let dots: [Dot]
    private let parts: [PartCell: Int]
    /// By number of the replica in `syncd_replica` and number of the transaction: its position.
    private var transactions: [RecordDot: Int32] = [:]
    private var objects: [ObjectUID] = []
    private var lives = ArrivingFacts.Lives()
    private var aliases = ArrivingFacts.Aliases()
    private var groups: [ArrivingFacts.Versions] = []
    /// By entity and cell: the position among the groups; -1: none yet.
    private var groupPlaces: [[Int]] = []
    /// The positions of objects that were named by their identity.
    private var named: [ObjectUID: Int32] = [:]
    private var last: (dot: RecordDot, place: Int32?) = (RecordDot(), nil)

    /// - Parameters:
    ///   - dots: the transactions whose facts are collected.
    ///   - numbers: of their replicas, in `syncd_replica`.
    ///   - parts: the cells of versions that state a part of one.
    init(of dots: [Dot], numbers: [ReplicaID: Int64], parts: [PartCell: Int] = [:]) {
        self.dots = dots
        self.parts = parts
        transactions.reserveCapacity(dots.count)
        for (place, dot) in dots.enumerated() {
            guard let replica = numbers[dot.replica] else { continue }
            transactions[RecordDot(replica: replica, number: dot.number)] = Int32(place)
        }
    }

    /// What was collected.
    /// - Complexity: O(facts)
    func finished() -> ArrivingFacts {
        ArrivingFacts(
            objects: objects, dots: dots, lives: lives, aliases: aliases, versions: groups)
    }

    // MARK: Records

    /// Adds the facts of an object that are of some of the transactions.
    /// - Parameters:
    ///   - record: its bytes are those of ``RecordCoding``.
    ///   - widths: the number of columns of each of the entity's cells.
    /// - Throws: `badData` for bytes that are no record.
    /// - Complexity: O(bytes)
    mutating func add(_ record: OutgoingPart.Record, widths: [Int]) throws {
        let (bytes, entity) = (record.bytes, record.entity)
        var reader = RecordReader(bytes)
        let object = Int32(objects.count)
        objects.append(record.uid)
        numbers.append(record.number)
        for _ in 0..<reader.lifeCount {
            let life = reader.life()
            guard let kind = LifeKind(rawValue: life.kind), !reader.cursor.isBroken else {
                throw Self.damaged
            }
            guard let transaction = transaction(life.dot) else { continue }
            lives.objects.append(object)
            lives.entities.append(Int32(entity))
            lives.kinds.append(kind)
            lives.transactions.append(transaction)
            lives.incarnations.append(Int32(truncatingIfNeeded: life.incarnation))
        }
        guard reader.hasCells(widths.count) else { throw Self.damaged }
        for (cell, width) in widths.enumerated() {
            for _ in 0..<reader.versionCount() {
                let version = reader.version()
                guard let transaction = transaction(version.dot) else {
                    for _ in 0..<width { _ = reader.cursor.skipField() }
                    continue
                }
                let part = try part(ofCell: cell, entity, at: reader.cursor, width: width)
                let group = group(entity, part?.cell ?? cell, width: part?.width ?? width)
                groups[group].add(
                    object, transaction,
                    incarnation: Int32(truncatingIfNeeded: version.incarnation))
                var column = 0
                for _ in 0..<width {
                    if part != nil, reader.cursor.next == RecordCoding.unstatedTag {
                        _ = reader.cursor.skipField()
                        continue
                    }
                    defer { column += 1 }
                    if let target = reader.cursor.reference() {
                        let object = place(of: target.uid)
                        groups[group].values[column].append(object: object, part: target.part)
                    } else {
                        groups[group].values[column].append(&reader.cursor, bytes)
                    }
                }
            }
            guard !reader.cursor.isBroken else { throw Self.damaged }
        }
        guard reader.cursor.isAtEnd else { throw Self.damaged }
    }

    /// What the batch has in place of a cell of which a version states a part; nil: it states all.
    private func part(
        ofCell cell: Int, _ entity: Int, at cursor: ByteCursor, width: Int
    ) throws -> (cell: Int, width: Int)? {
        if parts.isEmpty || width == 1 { return nil }
        let stated = cursor.stated(of: width)
        if stated.count == width { return nil }
        let part = PartCell(entity: entity, cell: cell, stated: stated)
        guard let described = parts[part] else { throw Self.damaged }
        return (described, stated.count)
    }

    static let damaged = SyncError(.badData, "an object's record is damaged")

    private mutating func transaction(_ dot: RecordDot) -> Int32? {
        if dot != last.dot { last = (dot, transactions[dot]) }
        return last.place
    }

    private mutating func group(_ entity: Int, _ cell: Int, width: Int) -> Int {
        while groupPlaces.count <= entity { groupPlaces.append([]) }
        while groupPlaces[entity].count <= cell { groupPlaces[entity].append(-1) }
        let known = groupPlaces[entity][cell]
        if known >= 0 { return known }
        var group = ArrivingFacts.Versions(entity: entity, cell: cell)
        group.values = Array(repeating: ValueSpans(), count: width)
        groups.append(group)
        groupPlaces[entity][cell] = groups.count - 1
        return groups.count - 1
    }

    // MARK: Facts

    /// The position of an object by its identity.
    private mutating func place(of uid: ObjectUID) -> Int32 {
        if let known = named[uid] { return known }
        let place = Int32(objects.count)
        objects.append(uid)
        numbers.append(nil)
        named[uid] = place
        return place
    }

    /// Adds a fact that is not in a record.
    /// - Parameters:
    ///   - transaction: the position of its transaction.
    ///   - number: the private number of its object.
    /// - Complexity: O(its columns)
    mutating func add(_ fact: Fact, of transaction: Int, number: Int64?) {
        let transaction = Int32(transaction)
        switch fact {
        case .alias(let first, let second, _):
            aliases.first.append(place(of: first))
            aliases.second.append(place(of: second))
            aliases.transactions.append(transaction)
        case .life(let uid, let entity, let life):
            lives.objects.append(place(of: uid, number: number))
            lives.entities.append(Int32(entity))
            lives.kinds.append(life.kind)
            lives.transactions.append(transaction)
            lives.incarnations.append(Int32(life.incarnation))
        case .cell(let uid, let entity, let cell, let version):
            let object = place(of: uid, number: number)
            let targets = version.value.map { $0.target.map { place(of: $0) } }
            let group = group(entity, cell, width: version.value.count)
            groups[group].add(object, transaction, incarnation: Int32(version.incarnation))
            for (column, field) in version.value.enumerated() {
                groups[group].values[column].append(field, target: targets[column] ?? 0)
            }
        }
    }

    private mutating func place(of uid: ObjectUID, number: Int64?) -> Int32 {
        let place = place(of: uid)
        if let number { numbers[Int(place)] = number }
        return place
    }
}

extension ArrivingFacts.Versions {
    /// Adds a version without its values.
    fileprivate mutating func add(_ object: Int32, _ transaction: Int32, incarnation: Int32) {
        objects.append(object)
        transactions.append(transaction)
        incarnations.append(incarnation)
    }
}

extension ByteCursor {
    /// Reads a field that is a reference; nil: it is another one, and not read.
    fileprivate mutating func reference() -> (uid: ObjectUID, part: Int32)? {
        guard next == RecordCoding.referenceTag else { return nil }
        _ = byte()
        let uid = ObjectUID(high: bigEndian(), low: bigEndian())
        return (uid, Int32(truncatingIfNeeded: varint()))
    }
}

extension ValueSpans {
    /// Appends a stored field that is no reference.
    /// - Parameter bytes: those that the cursor reads.
    fileprivate mutating func append(
        _ cursor: inout ByteCursor, _ bytes: UnsafeRawBufferPointer
    ) {
        let tag = cursor.byte()
        switch tag {
        case 1:
            let raw = cursor.varint()
            append(integer: Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1))
        case 2: append(real: cursor.bigEndian())
        case 3, 4:
            let count = Int(truncatingIfNeeded: cursor.varint())
            let start = cursor.position
            cursor.skip(count)
            let span = cursor.isBroken ? bytes[0..<0] : bytes[start..<start + count]
            append(UnsafeRawBufferPointer(rebasing: span), isText: tag == 3)
        default: appendNull()
        }
    }

    /// - Parameter target: the position of the object that a reference names.
    fileprivate mutating func append(_ field: Field, target: Int32) {
        switch field {
        case .value(.null): appendNull()
        case .value(.integer(let number)): append(integer: number)
        case .value(.real(let number)): append(real: number.bitPattern)
        case .value(.text(let text)):
            text.textBytes.withUnsafeBytes { append($0, isText: true) }
        case .value(.blob(let blob)): blob.withUnsafeBytes { append($0, isText: false) }
        case .reference(_, let part): append(object: target, part: Int32(part))
        case .unstated: preconditionFailure("a part of a cell is sent as a cell of its own")
        }
    }
}

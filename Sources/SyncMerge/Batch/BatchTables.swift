import SyncValues

/// The tables of texts, replicas, entities and objects that the columns of a batch refer to by
/// position.
struct BatchTables {
    let entities: [Batch.Entity]
    let texts: [String]
    let replicas: [ReplicaID]
    let objects: [ObjectUID]
    private let textPlaces: [String: Int]
    private let replicaPlaces: [ReplicaID: Int]
    private let objectPlaces: [ObjectUID: Int]
    /// By position among the objects of the batch's columns: the position in ``objects``; -1 for
    /// those that the batch does not name. Empty: the batch has no columns.
    let placesOfColumns: [Int32]
    /// The positions in ``objects`` of what the changes of all transactions name, in their order.
    let placesOfChanges: [Int32]

    /// Collects what a batch names: objects in the order in which history names them, so that their
    /// positions in the columns mostly ascend.
    init(_ batch: Batch) {
        var texts = Indexer<String>()
        var replicas = Indexer<ReplicaID>()
        var objects = Indexer<ObjectUID>(capacity: batch.arriving?.objects.count ?? 0)
        var placesOfChanges: [Int32] = []
        for entity in batch.entities {
            texts.add(entity.name)
            entity.cells.joined().forEach { texts.add($0) }
        }
        for transaction in batch.transactions {
            replicas.add(transaction.header.dot.replica)
            transaction.header.seen.entries.forEach { replicas.add($0.replica) }
            for text in [transaction.author, transaction.context, transaction.process] {
                if let text { texts.add(text) }
            }
            for change in transaction.changes {
                placesOfChanges.append(Int32(objects.add(change.object)))
            }
        }
        self.placesOfChanges = placesOfChanges
        placesOfColumns = Self.addObjects(of: batch, to: &objects)
        entities = batch.entities
        (self.texts, textPlaces) = (texts.items, texts.places)
        (self.replicas, replicaPlaces) = (replicas.items, replicas.places)
        (self.objects, objectPlaces) = (objects.items, objects.places)
    }

    private static func addObjects(
        of batch: Batch, to objects: inout Indexer<ObjectUID>
    ) -> [Int32] {
        if let columns = batch.arriving {
            return addObjects(of: columns, batch.arrivingRange, to: &objects)
        }
        for fact in batch.facts {
            switch fact {
            case .alias(let first, let second, _):
                objects.add(first)
                objects.add(second)
            case .life(let uid, _, _): objects.add(uid)
            case .cell(let uid, _, _, let version):
                objects.add(uid)
                version.value.forEach { if let target = $0.target { objects.add(target) } }
            }
        }
        return []
    }

    /// The same of facts in columns, in the same order.
    private static func addObjects(
        of columns: ArrivingFacts, _ range: Range<Int>, to objects: inout Indexer<ObjectUID>
    ) -> [Int32] {
        var places = [Int32](repeating: -1, count: columns.objects.count)
        func add(_ object: Int32) {
            if places[Int(object)] >= 0 { return }
            places[Int(object)] = Int32(objects.add(columns.objects[Int(object)]))
        }
        func add(_ versions: ArrivingFacts.Versions, _ row: Int) {
            add(versions.objects[row])
            for spans in versions.values where spans.tags[row] == .reference {
                add(Int32(truncatingIfNeeded: spans.words[row]))
            }
        }
        if range == columns.dots.indices {
            columns.lives.objects.forEach(add)
            for (first, second) in zip(columns.aliases.first, columns.aliases.second) {
                add(first)
                add(second)
            }
            for versions in columns.versions {
                let hasReferences = versions.values.contains(where: \.hasReferences)
                guard hasReferences else {
                    versions.objects.forEach(add)
                    continue
                }
                for row in versions.objects.indices { add(versions, row) }
            }
        } else {
            let (start, end) = (columns.starts[range.lowerBound], columns.starts[range.upperBound])
            for place in columns.places[start..<end] {
                let row = Int(place.row)
                switch place.group {
                case 0: add(columns.lives.objects[row])
                case 1:
                    add(columns.aliases.first[row])
                    add(columns.aliases.second[row])
                default: add(columns.versions[Int(place.group) - 2], row)
                }
            }
        }
        return places
    }

    func place(of text: String) -> Int { textPlaces[text] ?? 0 }
    func place(of replica: ReplicaID) -> Int { replicaPlaces[replica] ?? 0 }
    func place(of object: ObjectUID) -> Int { objectPlaces[object] ?? 0 }

    // MARK: Bytes

    func write(to content: inout ByteWriter) {
        content.append(varint: UInt64(texts.count))
        for text in texts { content.append(counted: Array(text.utf8)) }
        content.append(varint: UInt64(replicas.count))
        for replica in replicas { content.append(replica) }
        content.append(varint: UInt64(entities.count))
        for entity in entities {
            content.append(varint: UInt64(place(of: entity.name)))
            content.append(byte: entity.identityCode)
            content.append(varint: UInt64(entity.cells.count))
            for columns in entity.cells {
                content.append(varint: UInt64(columns.count))
                for column in columns { content.append(varint: UInt64(place(of: column))) }
            }
        }
        content.append(varint: UInt64(objects.count))
        for object in objects { content.append(object) }
    }

    init(_ reader: inout ByteReader) throws {
        var texts: [String] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.factsMax)) {
            texts.append(try reader.text())
        }
        var replicas: [ReplicaID] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.envelopeBytesMax)) {
            replicas.append(try reader.identifier(ReplicaID.self))
        }
        var entities: [Batch.Entity] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            entities.append(try Self.entity(from: &reader, texts: texts))
        }
        var objects: [ObjectUID] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.factsMax)) {
            objects.append(try reader.identifier(ObjectUID.self))
        }
        (self.texts, self.replicas, self.entities) = (texts, replicas, entities)
        self.objects = objects
        (textPlaces, replicaPlaces, objectPlaces) = ([:], [:], [:])
        (placesOfColumns, placesOfChanges) = ([], [])
    }

    private static func entity(from reader: inout ByteReader, texts: [String]) throws
        -> Batch.Entity
    {
        let name = texts[try reader.index(below: texts.count)]
        let identity = try reader.index(below: 3)
        var cells: [[String]] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            var columns: [String] = []
            for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
                columns.append(texts[try reader.index(below: texts.count)])
            }
            guard !columns.isEmpty else { throw SyncError(.badData, "a cell without columns") }
            cells.append(columns)
        }
        return Batch.Entity(
            name: name, isPrivate: identity != 0, sharesNumbers: identity == 2, cells: cells)
    }
}

extension Batch.Entity {
    /// What the key is: 0 identifies, 1 a private number, 2 a shared number.
    package var identityCode: UInt8 { sharesNumbers ? 2 : isPrivate ? 1 : 0 }
}

/// Numbers items by their first appearance.
private struct Indexer<Item: Hashable> {
    private(set) var items: [Item] = []
    private(set) var places: [Item: Int] = [:]

    /// - Parameter capacity: how many there may be.
    init(capacity: Int = 0) {
        items.reserveCapacity(capacity)
        places.reserveCapacity(capacity)
    }

    @discardableResult
    mutating func add(_ item: Item) -> Int {
        let next = items.count
        let place = Self.assign(next, to: &places[item])
        if place == next { items.append(item) }
        return place
    }

    private static func assign(_ next: Int, to place: inout Int?) -> Int {
        if let place { return place }
        place = next
        return next
    }
}

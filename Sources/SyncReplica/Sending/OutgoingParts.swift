import SyncMerge
import SyncStorage
import SyncValues

/// Takes apart what a replica lacks: one pass over the transactions, then one over the records of
/// the objects that they wrote. Lists of changes do not say how large a value is: where the second
/// pass meets a large one it begins again, after one that weighs them.
///
/// Memory does not grow with the rows: transactions and records go to ``ScratchStreams``. What does
/// grow: a few numbers for each part and for each transaction with large values, and facts that are
/// not in records (aliases, and those that the schema has no place for).
///
/// Invariant: the ends of the parts ascend for each replica, so that a part is found by the name of
/// a transaction alone.
struct OutgoingParts {
    /// A part ends before its weight exceeds this: the grain in which batches are cut.
    static let weightMax = 2_000
    /// Bytes of a fact that weigh as much as a fact: a part has some 32 MB at most, unless one
    /// transaction has more.
    static let largeBytes = 16 << 10

    private(set) var parts: [OutgoingPart] = []
    /// Of part n: 2n has the transactions, 2n + 1 the records.
    private(set) var content: ScratchStreams
    /// What the batches call entities.
    private(set) var described: DescribedEntities
    /// By number in `syncd_shape`: the position among the described entities; none: it has none.
    private(set) var places: [Int64: Int] = [:]
    /// By position among the described entities: the columns of each cell of a record.
    private(set) var widths: [[Int]]

    private let storage: ReplicaStorage
    private let since: VersionVector
    private let weightMax: Int
    private let rowBytesMax: Int
    /// Whether ``large`` is known.
    private let isWeighed: Bool
    private var isPlaced: Set<Int64> = []
    private var writer = OutgoingPart.TransactionWriter()
    private var head = ByteWriter()
    /// What the large facts of a transaction add to its weight.
    private var large: [RecordDot: Int] = [:]
    /// By number of a replica in `syncd_replica`.
    private var ends: [Int64: [End]] = [:]

    /// Up to which number of a replica a part leads.
    private struct End {
        var number: Int64
        let part: Int
    }

    /// A fact of ``largeBytes`` was met, and the weights are not known.
    private struct LargeFact: Error {}

    /// The parts of what was merged after a position and `since` does not cover.
    /// - Parameters:
    ///   - place: the position; nil: nothing is lacking.
    ///   - factsMax: facts in one batch.
    ///   - rowBytesMax: bytes of one row.
    ///   - memoryMax: bytes of transactions and records in memory.
    /// - Throws: SQLite errors; `corrupt`, `badData` for rows that cannot be read; `diskFull`.
    /// - Complexity: O(lacking transactions, and the objects that they wrote)
    static func collected(
        _ storage: ReplicaStorage, since: VersionVector, after place: Int64?, factsMax: Int,
        rowBytesMax: Int, memoryMax: Int
    ) throws -> OutgoingParts {
        func collected(isWeighed: Bool) throws -> OutgoingParts {
            var parts = OutgoingParts(
                storage, since: since, factsMax: factsMax, rowBytesMax: rowBytesMax,
                memoryMax: memoryMax, isWeighed: isWeighed)
            if let place { try parts.collect(after: place) }
            return parts
        }
        do { return try collected(isWeighed: false) } catch is LargeFact {
            return try collected(isWeighed: true)
        }
    }

    private init(
        _ storage: ReplicaStorage, since: VersionVector, factsMax: Int, rowBytesMax: Int,
        memoryMax: Int, isWeighed: Bool
    ) {
        self.isWeighed = isWeighed
        content = ScratchStreams(memoryMax: memoryMax)
        self.storage = storage
        self.since = since
        weightMax = min(Self.weightMax, factsMax)
        self.rowBytesMax = rowBytesMax
        described = DescribedEntities(storage.schema.merge.batchEntities)
        widths = storage.schema.merge.entities.map { $0.cells.map(\.count) }
    }

    private mutating func collect(after place: Int64) throws {
        if isWeighed { try weighLarge(after: place) }
        try collectTransactions(after: place)
        // Tables that were dropped get the cells of their records, and then those that are unknown.
        try collectRecords(after: place)
        try collectUnknown()
        for (alias, dot) in try storage.objects.aliases().sorted(by: { $0.key < $1.key }) {
            guard let part = try part(of: dot) else { continue }
            parts[part].others.append((.alias(alias.first, alias.second, dot), nil))
            parts[part].factCount += 1
        }
    }

    // MARK: Transactions

    private mutating func collectTransactions(after place: Int64) throws {
        let numbers = storage.replicas.numbers
        var bytes = ByteWriter()
        try storage.headers.forEach(after: place) { _, header, details in
            guard !since.covers(header.dot) else { return }
            let (count, factWeight) = try weigh(details)
            let weight = factWeight + largeWeight(of: header.dot, numbers)
            if parts.isEmpty || parts[parts.count - 1].weight + weight > weightMax {
                parts.append(OutgoingPart(after: parts.last?.upTo ?? since))
                writer = OutgoingPart.TransactionWriter()
            }
            let part = parts.count - 1
            parts[part].transactionCount += 1
            parts[part].changeCount += count
            parts[part].weight += weight
            parts[part].upTo.advance(to: header.dot)
            note(header.dot, in: part, numbers)
            bytes.removeAll()
            writer.append(header, details: details, numbers: numbers, to: &bytes)
            try bytes.bytes.withUnsafeBytes { try content.append($0, to: 2 * part) }
        }
    }

    private mutating func weighLarge(after place: Int64) throws {
        var record = OutgoingRecord()
        try storage.objects.forEachRecord(after: place, bytesMin: Self.largeBytes) {
            _, shape, _, bytes in
            guard let entity = try self.place(of: shape) else { return }
            try record.read(bytes, widths: widths[entity])
            for fact in record.facts where fact.bytes.count >= Self.largeBytes {
                large[fact.dot, default: 0] += fact.bytes.count / Self.largeBytes
            }
        }
    }

    private func largeWeight(of dot: Dot, _ numbers: [ReplicaID: Int64]) -> Int {
        guard !large.isEmpty, let replica = numbers[dot.replica] else { return 0 }
        return large[RecordDot(replica: replica, number: dot.number)] ?? 0
    }

    private mutating func note(_ dot: Dot, in part: Int, _ numbers: [ReplicaID: Int64]) {
        guard let replica = numbers[dot.replica] else { return }
        var known = ends[replica] ?? []
        ends[replica] = nil
        if let last = known.last, last.part == part {
            known[known.count - 1].number = max(last.number, dot.number)
        } else {
            known.append(End(number: dot.number, part: part))
        }
        ends[replica] = known
    }

    /// How many changes a transaction lists, and how many facts it made of them, at most.
    private mutating func weigh(_ details: [UInt8]) throws -> (count: Int, weight: Int) {
        var weight = 1
        var count = 0
        try HeaderDetails.forEachChange(in: details) { change in
            guard let kind = change.kind else { return }
            let place = try self.place(of: change.shape)
            count += 1
            switch kind {
            case .insert: weight += 1 + (place.map { described.entities[$0].cells.count } ?? 0)
            case .update: weight += max(1, change.cells.count)
            case .delete: weight += 1
            }
        }
        return (count, weight)
    }

    private mutating func place(of shape: Int64) throws -> Int? {
        if isPlaced.contains(shape) { return places[shape] }
        isPlaced.insert(shape)
        let place: Int?
        if let own = storage.shapes.position(of: shape) {
            place = own
        } else {
            place = try storage.shapes.foreign(shape).map { describe($0) }
        }
        places[shape] = place
        return place
    }

    /// The position of an entity that the schema does not have: of a table that was dropped.
    private mutating func describe(_ foreign: Batch.Entity) -> Int {
        let place = described.place(of: foreign)
        while widths.count <= place { widths.append([]) }
        widths[place] = foreign.cells.map(\.count)
        return place
    }

    // MARK: Facts

    private mutating func collectUnknown() throws {
        try storage.unknown.forEach { unknown in
            guard let part = try part(of: unknown.fact.dot) else { return }
            let fact = described.described(unknown)
            let number = try unknown.number ?? fact.object.flatMap(number(of:))
            parts[part].others.append((fact, number))
            parts[part].factCount += 1
        }
    }

    /// The private number of a stored object.
    private func number(of uid: ObjectUID) throws -> Int64? {
        guard let object = try storage.objects.object(uid),
            storage.schema.merge.entities[object.record.entity].hasPrivateNumbers
        else { return nil }
        return object.number
    }

    private mutating func collectRecords(after place: Int64) throws {
        var last: (shape: Int64, place: Int)?
        var finder = Finder(ends: ends, since: since, numbers: storage.replicas.numbers)
        var record = OutgoingRecord()
        /// The part of each fact; nil: it is not sent.
        var owners: [Int?] = []
        var found: [Int] = []
        var writer = ByteWriter()
        try storage.objects.forEachRecord(after: place) { uid, shape, number, bytes in
            let entity: Int
            if let last, last.shape == shape {
                entity = last.place
            } else {
                guard let place = try self.place(of: shape) else { return }
                entity = place
                last = (shape, place)
            }
            try record.read(bytes, widths: widths[entity])
            owners.removeAll(keepingCapacity: true)
            found.removeAll(keepingCapacity: true)
            for fact in record.facts {
                let part = finder.part(of: fact.dot)
                owners.append(part)
                guard let part else { continue }
                guard isWeighed || fact.bytes.count < Self.largeBytes else { throw LargeFact() }
                parts[part].factCount += 1
                if !found.contains(part) { found.append(part) }
            }
            // Shared numbers are facts.
            let number = described.entities[entity].hasPrivateNumbers ? number : nil
            for part in record.parts(of: bytes, widths: widths[entity], entity: entity) {
                described.describe(part)
            }
            if found.count == 1, !owners.contains(nil) {
                return try append(
                    .init(uid: uid, entity: entity, number: number, bytes: bytes), to: found[0])
            }
            for part in found {
                writer.removeAll()
                record.write(
                    owners.indices.filter { owners[$0] == part }, of: bytes, to: &writer)
                try writer.bytes.withUnsafeBytes { bytes in
                    try append(
                        .init(uid: uid, entity: entity, number: number, bytes: bytes), to: part)
                }
            }
        }
    }

    private mutating func append(_ record: OutgoingPart.Record, to part: Int) throws {
        if record.bytes.count > rowBytesMax, parts[part].refusal == nil {
            parts[part].refusal = try refusal(of: record)
        }
        head.removeAll()
        OutgoingPart.appendHead(of: record, to: &head)
        parts[part].recordBytes += record.bytes.count
        try head.bytes.withUnsafeBytes { try content.append($0, to: 2 * part + 1) }
        try content.append(record.bytes, to: 2 * part + 1)
    }

    private func refusal(of record: OutgoingPart.Record) throws -> SyncError {
        let table = described.entities[record.entity].name
        let size =
            "has \(record.bytes.count / 1_000_000) MB in its columns: a batch has room for "
            + "\(rowBytesMax / 1_000_000) MB"
        guard let object = try storage.objects.object(record.uid), let key = object.key else {
            return SyncError(
                .refused, "a row of \(table) that was deleted, or is hidden, \(size)",
                hint: "What was written before it is sent, and nothing that follows. To go on "
                    + "without its history, make the database a new replica: synctool untrack DB, "
                    + "synctool track DB, synctool remote add DB NAME URL --join by-key")
        }
        let row = key.map { $0.description.printable(countMax: 60) }.joined(separator: ", ")
        return SyncError(
            .refused, "row \(row) of \(table) \(size)",
            hint: "What was written before it is sent, and nothing that follows. Keep such values "
                + "in files beside the database, or in several rows: make the row smaller with an "
                + "UPDATE, then run it again; delete it after that, and not before")
    }

    // MARK: Finding

    private func part(of dot: Dot) throws -> Int? {
        var finder = Finder(ends: ends, since: since, numbers: storage.replicas.numbers)
        let replica = try storage.replicas.number(of: dot.replica)
        return finder.part(of: .init(replica: replica, number: dot.number))
    }

    /// Finds the part of a transaction by its name.
    private struct Finder {
        private let ends: [Int64: [End]]
        private var known: [Int64: Int64] = [:]
        /// The last answer holds for the numbers of the replica after the first, up to the second.
        private var last: (replica: Int64, after: Int64, upTo: Int64, part: Int)?

        init(ends: [Int64: [End]], since: VersionVector, numbers: [ReplicaID: Int64]) {
            self.ends = ends
            for entry in since.entries {
                if let number = numbers[entry.replica] { known[number] = entry.number }
            }
        }

        /// - Returns: nil for one that is not sent.
        /// - Complexity: O(log n) in the parts
        mutating func part(of dot: RecordDot) -> Int? {
            if let last, last.replica == dot.replica, dot.number > last.after,
                dot.number <= last.upTo
            {
                return last.part
            }
            let start = known[dot.replica] ?? 0
            guard dot.number > start, let ends = ends[dot.replica] else { return nil }
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if ends[middle].number < dot.number { low = middle + 1 } else { high = middle }
            }
            guard low < ends.count else { return nil }
            last = (
                dot.replica, low > 0 ? ends[low - 1].number : start, ends[low].number,
                ends[low].part
            )
            return ends[low].part
        }
    }
}

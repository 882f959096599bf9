import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Merges a slice of which every object is *plain* before and after it, without a region, a view or
/// an object for each fact: from the columns of the batch to the tables.
///
/// A plain object shows what it states, alone, and is shown so whatever the others are, as long as
/// none of them moves: docs/merge-design.md, *When the fast lane may take an object*. The slice is
/// taken whole or not at all. What is taken: inserts, and updates whose writers had seen what they
/// overwrite, of tables without user triggers, of references of one column to plain rows.
///
/// Invariants
/// - What the lane writes is what the general lane writes, in every table but for the ids of
///   `syncd_object`.
/// - Constraints are SQLite's to judge: a row that it refuses takes back the slice, which then
///   goes the general way.
///
/// Confined to its connection's queue and to one transaction.
final class FastLane {
    /// One object of the slice.
    struct Arrival {
        /// Its position among the objects of the batch.
        let object: Int
        let uid: ObjectUID
        let entity: Int
        /// Its facts in ``FastLane/order``.
        let facts: Range<Int>
        /// The cells that are written, as bits.
        var cells: UInt64 = 0
        /// Its life fact; -1: it is known.
        var life: Int32 = -1
        /// The id in `syncd_object` of a known object.
        var id: Int64 = 0
        /// The private number.
        var number: Int64 = 0
        /// The key that identifies.
        var key: [Value] = []
        /// The stored record of a known object in ``FastLane/records``.
        var record = 0..<0

        var isNew: Bool { life >= 0 }
    }

    /// What a reference leads to.
    struct Target {
        let entity: Int
        let key: Value
    }

    let transaction: MergeTransaction
    let storage: ReplicaStorage
    let lane: LaneStorage
    let facts: ArrivingFacts
    /// The new transactions of the slice.
    let fresh: [Batch.Transaction]
    private(set) var arrivals: [Arrival] = []
    var history = LaneHistory()

    private let batch: Batch
    /// The facts of the slice in the order of their objects.
    private(set) var order: [ArrivingFacts.Place] = []
    /// The stored records of known objects, one after the other.
    private(set) var records: [UInt8] = []
    /// By position of the object; those that were looked up.
    var targets: [Int: Target] = [:]
    /// The record that is being read.
    var parsed = LaneRecord()
    /// By entity: the number of columns of each cell.
    let widths: [[Int]]
    /// By transaction of the slice: its position in the merge order; 0: it is merged already.
    private let positions: [Int64]
    private var replicaName: (number: Int64, name: ReplicaID)?

    /// The lane of a slice, before anything of it is written.
    /// - Parameters:
    ///   - fresh: its transactions that are not merged yet.
    ///   - merged: what was merged before it.
    /// - Returns: nil where the slice has to go the general way.
    /// - Throws: SQLite errors; `corrupt`.
    /// - Complexity: O(facts of the slice, and what is unresolved)
    static func take(
        _ batch: Batch, fresh: [Batch.Transaction], merged: VersionVector,
        in transaction: MergeTransaction
    ) throws -> FastLane? {
        guard transaction.environment.usesLane, let facts = batch.arriving else { return nil }
        let lane = try FastLane(batch, facts, fresh: fresh, merged: merged, in: transaction)
        guard let reason = try lane.prepare() else { return lane }
        transaction.environment.tally.count(refused: reason.rawValue)
        return nil
    }

    private init(
        _ batch: Batch, _ facts: ArrivingFacts, fresh: [Batch.Transaction], merged: VersionVector,
        in transaction: MergeTransaction
    ) throws {
        self.transaction = transaction
        storage = transaction.storage
        lane = try storage.lane()
        self.batch = batch
        self.facts = facts
        self.fresh = fresh
        widths = storage.schema.merge.entities.map { $0.cells.map(\.count) }
        var next = transaction.nextPosition
        positions = batch.transactions.map { entry in
            if merged.covers(entry.header.dot) { return 0 }
            defer { next += 1 }
            return next
        }
    }

    // MARK: Rules

    /// - Returns: the first rule that refuses the slice; nil: it can be taken.
    private func prepare() throws -> LaneReason? {
        if batch.hasGaps { return .gaps }
        guard try !storage.objects.hasAliases() else { return .alias }
        guard !storage.schema.merge.sharesNumbers, try !storage.objects.isAnyNumberReserved()
        else { return .number }
        if storage.triggers.isNeeded { return .trigger }
        if let reason = try arrange() ?? look() { return reason }
        return try references() ?? findHistory()
    }

    /// The position that a transaction gets in the merge order; 0: it is merged already.
    func position(of transaction: Int32) -> Int64 {
        positions[Int(transaction) - batch.arrivingRange.lowerBound]
    }

    func header(_ transaction: Int32) -> TransactionHeader {
        batch.transactions[Int(transaction) - batch.arrivingRange.lowerBound].header
    }

    /// Sorts the facts by object.
    private func arrange() -> LaneReason? {
        let range = batch.arrivingRange
        let (first, end) = (facts.starts[range.lowerBound], facts.starts[range.upperBound])
        var keys: [UInt64] = []
        keys.reserveCapacity(end - first)
        for index in first..<end {
            let place = facts.places[index]
            let (object, transaction) = self.object(at: place)
            guard object >= 0 else { return .alias }
            guard position(of: transaction) > 0 else { continue }
            keys.append(UInt64(object) << 32 | UInt64(index - first))
        }
        keys.sort()
        order.reserveCapacity(keys.count)
        for key in keys { order.append(facts.places[first + Int(key & 0xFFFF_FFFF)]) }
        var start = 0
        for index in keys.indices {
            let isLast = index + 1 == keys.count || keys[index + 1] >> 32 != keys[index] >> 32
            guard isLast else { continue }
            if let reason = add(object: Int(keys[index] >> 32), facts: start..<index + 1) {
                return reason
            }
            start = index + 1
        }
        return nil
    }

    /// -1: an alias.
    private func object(at place: ArrivingFacts.Place) -> (object: Int32, transaction: Int32) {
        let row = Int(place.row)
        switch place.group {
        case 0: return (facts.lives.objects[row], facts.lives.transactions[row])
        case 1: return (-1, 0)
        default:
            let group = Int(place.group) - 2
            return (facts.versions[group].objects[row], facts.versions[group].transactions[row])
        }
    }

    private func entity(of place: ArrivingFacts.Place) -> Int {
        place.group == 0
            ? Int(facts.lives.entities[Int(place.row)])
            : facts.versions[Int(place.group) - 2].entity
    }

    private func add(object: Int, facts range: Range<Int>) -> LaneReason? {
        let theirs = entity(of: order[range.lowerBound])
        guard let position = entityOfTheirs[theirs], let entity = lane.entities[position] else {
            return .entity
        }
        var arrival = Arrival(
            object: object, uid: facts.objects[object], entity: position, facts: range)
        var incarnation = Int32(0)
        for place in order[range] {
            let row = Int(place.row)
            guard self.entity(of: place) == theirs else { return .life }
            if place.group == 0 {
                guard arrival.life < 0, facts.lives.kinds[row] == .created,
                    facts.lives.incarnations[row] == 1
                else { return .life }
                arrival.life = place.row
                continue
            }
            let group = Int(place.group) - 2
            let cell = facts.versions[group].cell
            guard arrival.cells >> UInt64(cell) & 1 == 0 else { return .versions }
            arrival.cells |= 1 << UInt64(cell)
            let known = facts.versions[group].incarnations[row]
            guard incarnation == 0 || incarnation == known else { return .life }
            incarnation = known
        }
        if arrival.isNew {
            guard entity.takesNew, incarnation <= 1 else { return .fallback }
            let count = arrival.cells.nonzeroBitCount
            guard count == entity.cells.count else { return .incomplete }
        }
        arrivals.append(arrival)
        return nil
    }

    /// By the sender's entity: this replica's; nil where they differ in a column.
    private(set) lazy var entityOfTheirs: [Int?] = {
        let schema = storage.schema.merge
        var places: [String: Int] = [:]
        for (position, entity) in schema.entities.enumerated() {
            places[Collation.lowercased(entity.name)] = position
        }
        return batch.entities.map { theirs in
            places[Collation.lowercased(theirs.name)].flatMap { position in
                guard let entity = lane.entities[position], entity.isSame(as: theirs, in: schema)
                else { return nil }
                return position
            }
        }
    }()

    /// Looks up what is stored of the objects.
    private func look() throws -> LaneReason? {
        let unresolved = try storage.objects.objects(try storage.objects.unresolved())
        var troubled = Set(unresolved.keys)
        var troubledEntities: Set<Int> = []
        for object in unresolved.values {
            troubled.formUnion(object.record.targets)
            troubledEntities.insert(object.record.entity)
        }
        for index in arrivals.indices {
            if !troubled.isEmpty {
                if troubled.contains(arrivals[index].uid) { return .trouble }
                let entity = arrivals[index].entity
                guard
                    !troubledEntities.contains(entity)
                        || storage.schema.merge.entities[entity].claims.isEmpty
                else { return .claim }
            }
            if let reason = try look(at: index) { return reason }
        }
        return nil
    }

    private func look(at index: Int) throws -> LaneReason? {
        let arrival = arrivals[index]
        guard let entity = lane.entities[arrival.entity] else { return .entity }
        let find = lane.find
        find.bind(arrival.uid, at: 1)
        defer { find.reset() }
        guard try find.step() else {
            return arrival.isNew ? try identify(index, entity) : .incomplete
        }
        guard !arrival.isNew, find.integer(1) == storage.shapes.number(of: arrival.entity),
            find.integer(4) == StoredObject.State.plain.rawValue, !find.isNull(2)
        else { return .life }
        arrivals[index].id = find.integer(0)
        if entity.isPrivate {
            arrivals[index].number = find.integer(2)
        } else {
            arrivals[index].key = try StoredKey.key(from: find.value(2)) ?? []
        }
        let start = records.count
        let isRecord = find.withBlob(6) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { records.append(contentsOf: $0) }
            return parsed.read(bytes, widths: widths[arrival.entity])
        }
        guard isRecord, parsed.lifeCount == 1, parsed.lifeKind == LifeKind.created.rawValue else {
            return .life
        }
        arrivals[index].record = start..<records.count
        for place in order[arrival.facts] {
            let versions = facts.versions[Int(place.group) - 2]
            let row = Int(place.row)
            guard entity.cells[versions.cell].isWritable else { return .policy }
            guard Int(versions.incarnations[row]) == parsed.lifeIncarnation else { return .life }
            let known = parsed.cells[versions.cell]
            guard known.count <= 1 else { return .rivals }
            if known.count == 1 {
                let dot = Dot(try replica(known.name.replica), known.name.number)
                guard header(versions.transactions[row]).seen.covers(dot) else { return .rivals }
            }
        }
        return nil
    }

    /// The replica of a number in `syncd_replica`.
    func replica(_ number: Int64) throws -> ReplicaID {
        if let replicaName, replicaName.number == number { return replicaName.name }
        let name = try storage.replicas.name(of: number)
        replicaName = (number, name)
        return name
    }

    /// The key of a new object.
    private func identify(_ index: Int, _ entity: LaneEntity) throws -> LaneReason? {
        if entity.isPrivate {
            guard let number = batch.extras.numbers[arrivals[index].uid] else { return .number }
            arrivals[index].number = number
            return nil
        }
        var key: [Value] = []
        for column in entity.key {
            guard let value = value(of: column, arrivals[index]) else { return .key }
            // As the column holds it: any other value is converted, and so is the key.
            switch (value, entity.table.affinities[column]) {
            case (.integer, .integer), (.integer, .numeric), (.integer, .blob), (.text, .text),
                (.text, .blob), (.blob, _):
                key.append(value)
            default: return .key
            }
        }
        arrivals[index].key = key
        return nil
    }

    /// The plain value that an object gets in a column.
    private func value(of column: Int, _ arrival: Arrival) -> Value? {
        guard let (spans, row) = spans(of: column, arrival),
            case .value(let value) = spans.field(row, objects: facts.objects)
        else { return nil }
        return value
    }

    private func spans(of column: Int, _ arrival: Arrival) -> (ValueSpans, Int)? {
        let entity = storage.schema.merge.entities[arrival.entity]
        guard let cell = entity.cellOfColumn[column],
            let place = entity.cells[cell].firstIndex(of: column)
        else { return nil }
        for fact in order[arrival.facts] where fact.group >= 2 {
            let versions = facts.versions[Int(fact.group) - 2]
            if versions.cell == cell { return (versions.values[place], Int(fact.row)) }
        }
        return nil
    }
}

import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Merges the objects of a slice that are *plain* before and after it, without a region, a view or
/// an object for each fact: from the columns of the batch to the tables.
///
/// A plain object shows what it states, alone, and is shown so whatever the others are, as long as
/// none of them moves: docs/merge-design.md, *When the fast lane may take an object*. What is
/// taken: inserts and updates, of tables without user triggers, of references of one column to
/// plain rows; of versions whose writers had not seen each other (``LaneRivals``) none may be a
/// reference, or a claim. The other objects of the slice are merged by the general lane, after it,
/// in the same transaction.
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
        /// The cells that are written.
        var cells = PositionSet()
        /// Of a known object, those in which its row shows what is written.
        var shown = PositionSet()
        /// Whether a cell that is written has, or gets, several versions, which ``LaneRivals`` has
        /// to join.
        var isContested = false
        /// Those that were joined without it, in ``FastLane/contests``.
        var contests = 0..<0
        /// Whether its record changes.
        var isRecordChanged = true
        /// Its life fact; -1: it is known.
        var life: Int32 = -1
        /// The id in `syncd_object` of a known object.
        var id: Int64 = 0
        /// The private number.
        var number: Int64 = 0
        /// Whether the number is reserved for a deleted object, which loses it.
        var takesNumber = false
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
    /// The objects that are taken, in the order of the batch.
    var arrivals: [Arrival] = []
    /// The others, with the first rule that refuses each.
    private(set) var refusals: [ObjectUID: LaneReason] = [:]
    /// The entities of these.
    private(set) var refusedEntities: Set<Int> = []
    /// The entities of the unresolved objects.
    var troubledEntities: Set<Int> = []
    var history = LaneHistory()
    var contests: [LaneContest] = []
    var keptVersions: [LaneContest.Version] = []
    var rivals: LaneRivals?

    let batch: Batch
    /// The facts of the slice in the order of their objects.
    private(set) var order: [ArrivingFacts.Place] = []
    /// The stored records of known objects, one after the other.
    var records: [UInt8] = []
    /// By position of the object; those that were looked up.
    var targets: [Int: Target] = [:]
    /// The identities that are part of an alias.
    var aliased: Set<ObjectUID> = []
    /// The record that is being read.
    var parsed = LaneRecord()
    /// The cells of the record that is being written.
    var written: [WrittenCell] = []
    /// By entity: the number of columns of each cell.
    let widths: [[Int]]
    /// By entity: how its table is tracked.
    private(set) lazy var tracked: [TrackedEntity?] = {
        let present = storage.history.catalog.present
        let entities = Set(arrivals.map(\.entity))
        return storage.schema.tables.enumerated().map { position, table in
            guard entities.contains(position) else { return nil }
            return present.first { SQLName.isEqual($0.name, to: table.name) }
        }
    }()
    /// By transaction of the slice: its position in the merge order; 0: it is merged already.
    private let positions: [Int64]
    /// The position in the batch of its first transaction.
    private let firstTransaction: Int
    private var replicaName: (number: Int64, name: ReplicaID)?

    /// The lane of a slice, before anything of it is written.
    /// - Parameters:
    ///   - fresh: its transactions that are not merged yet.
    ///   - merged: what was merged before it.
    /// - Returns: nil where the whole slice has to go the general way.
    /// - Throws: SQLite errors; `corrupt`.
    /// - Complexity: O(facts of the slice, and what is unresolved)
    static func take(
        _ batch: Batch, fresh: [Batch.Transaction], merged: VersionVector,
        in transaction: MergeTransaction
    ) throws -> FastLane? {
        let environment = transaction.environment
        guard environment.usesLane, !environment.isGeneral, !environment.isCheckingLane,
            let facts = batch.arriving
        else { return nil }
        let lane = try FastLane(batch, facts, fresh: fresh, merged: merged, in: transaction)
        if let reason = try lane.prepare() {
            transaction.environment.tally.count(
                refused: [reason.rawValue: lane.objectCount])
            return nil
        }
        guard lane.arrivals.isEmpty else { return lane }
        transaction.environment.tally.count(refused: lane.refusalCounts)
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
        firstTransaction = batch.arrivingRange.lowerBound
        var next = transaction.nextPosition
        positions = batch.transactions.map { entry in
            if merged.covers(entry.header.dot) { return 0 }
            defer { next += 1 }
            return next
        }
    }

    // MARK: Rules

    /// - Returns: the first rule that refuses the whole slice; nil: ``arrivals`` can be taken.
    private func prepare() throws -> LaneReason? {
        let reason = arrange()
        if batch.hasGaps { return .gaps }
        if let reason { return reason }
        guard !storage.schema.merge.sharesNumbers else { return .number }
        if storage.triggers.isNeeded { return .trigger }
        try look()
        try decideContests()
        try decideRivals()
        try settle()
        if arrivals.isEmpty { return nil }
        return try assignNumbers() ?? findHistory()
    }

    /// Leaves an object of the slice to the general lane.
    /// - Parameter entity: its position here; nil: there is no such table.
    func refuse(_ object: Int, _ reason: LaneReason, entity: Int?) {
        refusals[facts.objects[object]] = reason
        if let entity { refusedEntities.insert(entity) }
    }

    /// How many objects the slice names in facts of their own.
    var objectCount: Int { arrivals.count + refusals.count }

    var refusalCounts: [String: Int] {
        Dictionary(refusals.values.map { ($0.rawValue, 1) }, uniquingKeysWith: +)
    }

    /// The position that a transaction gets in the merge order; 0: it is merged already.
    func position(of transaction: Int32) -> Int64 {
        positions[Int(transaction) - firstTransaction]
    }

    func header(_ transaction: Int32) -> TransactionHeader {
        batch.transactions[Int(transaction) - firstTransaction].header
    }

    /// Sorts the facts by object.
    /// - Returns: a reason where the slice has aliases, or two positions for one object.
    private func arrange() -> LaneReason? {
        let range = batch.arrivingRange
        let (first, end) = (facts.starts[range.lowerBound], facts.starts[range.upperBound])
        var keys: [UInt64] = []
        keys.reserveCapacity(end - first)
        var reason: LaneReason?
        for index in first..<end {
            let place = facts.places[index]
            let (object, transaction) = self.object(at: place)
            guard position(of: transaction) > 0 else { continue }
            guard object >= 0 else {
                reason = .alias
                continue
            }
            keys.append(UInt64(object) << 32 | UInt64(index - first))
        }
        keys.sort()
        order.reserveCapacity(keys.count)
        for key in keys { order.append(facts.places[first + Int(key & 0xFFFF_FFFF)]) }
        var start = 0
        for index in keys.indices {
            let isLast = index + 1 == keys.count || keys[index + 1] >> 32 != keys[index] >> 32
            guard isLast else { continue }
            let object = Int(keys[index] >> 32)
            if let reason = add(object: object, facts: start..<index + 1) {
                let theirs = entity(of: order[start])
                refuse(object, reason, entity: placeOfTheirs[theirs])
            }
            start = index + 1
        }
        return reason
    }

    /// -1: an alias.
    private func object(at place: ArrivingFacts.Place) -> (object: Int32, transaction: Int32) {
        let row = Int(place.row)
        switch place.group {
        case 0: return (facts.lives.objects[row], facts.lives.transactions[row])
        case 1: return (-1, facts.aliases.transactions[row])
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
            guard !arrival.cells.contains(cell) else { return .versions }
            arrival.cells.insert(cell)
            // It is shown otherwise than it is stored.
            for column in entity.cells[cell].columns.indices
            where isState(field(place, column)) { return .state }
            let known = facts.versions[group].incarnations[row]
            guard incarnation == 0 || incarnation == known else { return .life }
            incarnation = known
        }
        if arrival.isNew {
            guard entity.takesNew, incarnation <= 1 else { return .fallback }
            let count = arrival.cells.count
            guard count == entity.cells.count else { return .incomplete }
        }
        arrivals.append(arrival)
        return nil
    }

    /// By the sender's entity: this replica's.
    private(set) lazy var placeOfTheirs: [Int?] = {
        var places: [String: Int] = [:]
        for (position, entity) in storage.schema.merge.entities.enumerated() {
            places[Collation.lowercased(entity.name)] = position
        }
        return batch.entities.map { places[Collation.lowercased($0.name)] }
    }()

    /// By the sender's entity: this replica's; nil where they differ in a column.
    private(set) lazy var entityOfTheirs: [Int?] = zip(batch.entities, placeOfTheirs).map {
        theirs, place in
        guard let place, let entity = lane.entities[place],
            entity.isSame(as: theirs, in: storage.schema.merge)
        else { return nil }
        return place
    }

    /// Whether the batch has references of tables that have none here: what they lead to may be
    /// shown after the lane.
    private(set) lazy var hasUndeclaredReferences = facts.versions.contains { versions in
        guard let place = placeOfTheirs[versions.entity], let entity = lane.entities[place] else {
            return false
        }
        return !entity.hasReferences && versions.values.contains(where: \.hasReferences)
    }

    /// The number of a replica in `syncd_replica`.
    func number(of replica: ReplicaID) throws -> Int64 {
        if let replicaName, replicaName.name == replica { return replicaName.number }
        let number = try storage.replicas.number(of: replica)
        replicaName = (number, replica)
        return number
    }

    /// The replica of a number in `syncd_replica`.
    func replica(_ number: Int64) throws -> ReplicaID {
        if let replicaName, replicaName.number == number { return replicaName.name }
        let name = try storage.replicas.name(of: number)
        replicaName = (number, name)
        return name
    }
}

import Foundation
import SyncReplica

/// One random schedule of replicas on real files: foreign writers, batches as bytes over an
/// unreliable network, restarts, clones and copies, conflicts that are resolved; everything follows
/// from the seed.
///
/// What is checked after every full exchange
/// - the tables are equal on all replicas but for private numbers, no replica lacks anything, and
///   each row with a shared number has one of its own, because all authors are here;
/// - the open conflicts are equal; SQLite finds no dangling reference and no damage;
/// - every text ever committed is visible, was removed by a writer that saw it, or is in a log;
/// - replicas that have merged the same transactions state equal sums, at any step (but where one
///   has sent what it doubts), and do so after a full exchange;
/// - history has each merged transaction once, unless it was purged;
/// - nothing that one snapshot left out stays doubtful, and nothing is lost that one member alone
///   leaves out (``LyingSnapshots``);
/// - a collection changes neither the tables nor what other replicas show, whenever it runs;
/// - a new replica made from the snapshot of another has the same tables;
/// - a new replica has the views, triggers and other tables of the store, and its schema of now;
/// - of concurrent writes of a column the one that was written last is shown, also where several
///   commits are recorded at once;
/// - a column or a table that the replicas got one after the other holds the same on all of them,
///   also where it was dropped and added again, and whatever they call tables and columns;
/// - replicas that changed their schemas at the same time have one schema when each has applied
///   what it has heard of, and nothing waits (``ConcurrentMigrations``);
/// - what was written while triggers were missing, or before a new column was recorded, is neither
///   lost nor set back.
package struct StoreSimulation {
    /// Whether replicas check themselves, and refuse a commit without facts: in use, neither.
    @TaskLocal package static var isVerifying = true

    /// Whether the rules of the fast lane are applied to each slice of a batch, and checked.
    @TaskLocal package static var isCheckingLane = false

    /// Whether each batch is merged by both lanes, what was committed here is stated by both ways,
    /// and all tables are compared.
    @TaskLocal package static var comparesLanes = false

    /// Whether replicas use the lanes where ``comparesLanes`` does not say it: in two of three
    /// schedules.
    @TaskLocal static var usesLane = true

    /// Whether writers refer to rows that are not there.
    @TaskLocal static var mayDangle = false

    /// What one member doubts the others confirm one after the other.
    private static let roundsMax = 8

    private let schema: SimulatedSchema
    private let steps: Int
    private let skews: [Int64]
    private let focus: RandomWriter.Target?
    private let duelEvery: Int
    private let folder: String
    private var stores: [SimulatedStore] = []
    private var random: SeededRandom
    private var clock = VirtualClock()
    private var network = UnreliableNetwork<SimulatedBatch>(
        faults: .init(delay: 0.25, release: 0.7, duplication: 0.5))
    private var tokens = RandomWriter.Tokens()
    private var written = WrittenTexts()
    private var tally = MergeSimulation.Tally()
    /// Random numbers of collection: a generator of its own, so that a schedule is the same without
    /// it.
    private var collecting: SeededRandom
    private let collects: Bool
    /// Whether a replica that doubts has sent since the last full exchange: who merges its snapshot
    /// has rows that others have dropped under the same vector, and says so.
    private var mayDiffer = false
    private var purges: RandomPurges?
    /// Whether present replicas are treated as absent: they come back by snapshot.
    private let evicts: Bool
    /// Random numbers of files' formats and of compared statements, for the same reason.
    private var filing: SeededRandom
    private var stating: SeededRandom
    /// After how many steps the stores begin to sign; nil: never.
    private let signsAfter: Int?
    private var growth: SchemaGrowth?
    private var table: TableGrowth?
    private var migration: ForeignMigration?
    private var loosening: ConstraintLoosening?
    private var tightening: ConstraintTightening?
    private var late: LateEdits?
    private var renaming: SchemaRenaming?
    private var migrations: ConcurrentMigrations?
    private var parents: ParentGrowth?
    private var lies: LyingSnapshots?
    private let features: SchemaFeatures?
    private let schedules: Schedules

    /// Runs the schedule of a seed, in a folder of its own below `folder`.
    /// - Parameter steps: how many steps before the exchange; nil: drawn.
    /// - Throws: ``SimulationFailure``, or what the engine throws.
    package static func run(
        seed: UInt64, steps: Int? = nil, schedules: Schedules = .ordinary, in folder: String
    ) throws -> MergeSimulation.Tally {
        let own = folder + "/seed-\(seed)"
        try? FileManager.default.removeItem(atPath: own)
        try FileManager.default.createDirectory(
            atPath: own, withIntermediateDirectories: true)
        // One in eight compares the lanes, whatever is asked for.
        let compares = comparesLanes || !isCheckingLane && seed % 8 == 5
        let tally = try $usesLane.withValue(seed % 3 != 1) {
            try $comparesLanes.withValue(compares) {
                try $mayDangle.withValue(schedules == .loose) {
                    var simulation = StoreSimulation(seed: seed, steps: steps, schedules, own)
                    return try simulation.run()
                }
            }
        }
        try FileManager.default.removeItem(atPath: own)
        return tally
    }

    private init(seed: UInt64, steps: Int?, _ schedules: Schedules, _ folder: String) {
        var random = SeededRandom(seed: seed &+ 0x5_0000_0000)
        let keepsConstraints = schedules.isLasting || [.plain, .simple].contains(schedules)
        let isPlain = keepsConstraints || schedules == .crowded
        schema = schedules.schema(&random)
        self.schedules = schedules
        self.folder = folder
        let count = random.pick([2, 2, 2, 3, 3, 4, 5, 8])
        self.steps = steps ?? random.pick([6, 8, 10, 12] + (count > 2 ? [16, 24] : []))
        skews = (0..<count).map { _ in random.pick([0, 0, 0, -50, 50, 1000, 157_680_000_000]) }
        duelEvery = random.pick(keepsConstraints ? [0, 0, 5] : [0, 2, 3, 5])
        let entities = schema.merge.entities
        let busy = entities.indices.filter { !entities[$0].references.isEmpty }
        focus =
            random.chance(isPlain ? 0 : 0.6)
            ? .init(
                entity: random.pick(busy + Array(entities.indices)), row: 0,
                operation: random.pick(RandomWriter.Operation.allCases)) : nil
        self.random = random
        var collecting = SeededRandom(seed: seed &+ 0x7_0000_0000)
        collects = collecting.chance(0.6)
        evicts = collecting.chance(0.6)
        signsAfter =
            schedules == .migrating ? 0 : [0, 0, 0, self.steps / 2, nil][Int(seed % 5)]
        self.collecting = collecting
        purges = RandomPurges(seed: seed)
        stating = SeededRandom(seed: seed &+ 0x11_0000_0000)
        filing = SeededRandom(seed: seed &+ 0xF_0000_0000)
        growth = SchemaGrowth(schema, seed: seed)
        table = TableGrowth(schema, seed: seed)
        migration = isPlain ? nil : ForeignMigration(seed: seed)
        loosening = keepsConstraints ? nil : ConstraintLoosening(schema, seed: seed)
        tightening =
            keepsConstraints
            ? nil : ConstraintTightening(schema, seed: seed, isTying: schedules == .tied)
        late = LateEdits(schema, seed: seed, sparing: tightening?.columns ?? [])
        lies = isPlain ? nil : LyingSnapshots(seed: seed, count: count)
        renaming =
            isPlain
            ? nil
            : SchemaRenaming(
                seed: seed,
                sparing: (loosening == nil ? [] : ConstraintLoosening.columns)
                    .union(tightening?.columns ?? []),
                wanted: (SchemaGrowth.column, table?.name))
        // Nothing happens to most such schemas.
        let isQuiet = schedules.isLasting || schedules == .simple && seed % 4 != 0
        if isQuiet || schedules == .migrating {
            (growth, table, migration, loosening) = (nil, nil, nil, nil)
            (tightening, renaming) = (nil, nil)
        }
        parents = schedules == .orphaned ? ParentGrowth(schema, seed: seed) : nil
        // Of one text that two replicas change at the same time the later one holds.
        let isSchemaFixed =
            growth == nil && table == nil && migration == nil && loosening == nil
            && tightening == nil && renaming == nil
        migrations =
            isSchemaFixed && signsAfter == 0 && !isPlain
                && (schedules == .migrating || ConcurrentMigrations.isDrawn(seed: seed))
            ? ConcurrentMigrations(schema, seed: seed) : nil
        // A rebuild of a table that a view names is refused by SQLite, and drops its triggers.
        // Beside a snapshot of a store with renames no schema is sent.
        let isRemade =
            migration != nil || loosening != nil || tightening != nil || renaming != nil
            || growth?.rebuilds ?? false || migrations?.remakes ?? false
        features = isRemade || isQuiet ? nil : SchemaFeatures(schema, seed: seed)
    }

    private mutating func run() throws -> MergeSimulation.Tally {
        clock.advance(milliseconds: 1000)
        try makeStores()
        try introduce()
        for step in 0..<steps {
            try self.step(step)
            if step == signsAfter { for store in stores { try store.replica.startSigning() } }
            try grow()
        }
        try exchange()
        if random.chance(0.35) {
            for _ in 0..<2 {
                for index in stores.indices { try collect(index, hearing: 1) }
            }
            for step in steps..<steps + random.pick([4, 8, 12]) {
                try self.step(step)
                try grow()
            }
            try exchange()
        }
        try editLate()
        tally.conflicts = try stores[0].replica.conflicts().count
        tally.renumbered = try stores.reduce(0) { try $0 + $1.renumberings() }
        for store in stores {
            tally.lane.add(store.lane)
            tally.kills += store.kills
            try store.close()
        }
        return tally
    }

    private mutating func editLate() throws {
        guard late != nil else { return }
        let before = try stores.map { texts(try $0.read()) }
        var clock = clock
        let skews = skews
        try late?.run(stores) { pause, index in
            clock.advance(milliseconds: pause)
            return clock.reading(skew: skews[index])
        }
        self.clock = clock
        for (store, before) in zip(stores, before) {
            written.note(before: before, after: texts(try store.read()))
        }
        try exchange()
        try late?.check(stores[0])
    }

    // MARK: Stores

    /// Of texts that are not UTF-8 a file in UTF-16 keeps marks alone.
    private mutating func drawFile() -> SimulatedFile {
        let file = SimulatedFile.draw(&filing)
        return schedules == .simple ? file.inUTF8 : file
    }

    private mutating func makeStores() throws {
        let first = try SimulatedStore(
            first: folder + "/A.db", schema, name: "A", file: drawFile(),
            isSigning: signsAfter == 0,
            populate: { database in
                for statement in features?.statements ?? [] { try database.run(statement) }
            })
        stores.append(first)
        if random.chance(0.6) {
            for _ in 0..<3 { try edit(0, target: nil, random: random.fork()) }
        }
        for index in 1..<skews.count {
            let name = Character(Unicode.Scalar(UInt8(65 + index)))
            let path = folder + "/\(name).db"
            if random.chance(0.3) {
                stores.append(try SimulatedStore(copy: path, of: first, name: name))
            } else {
                let snapshot = try first.replica.batches(since: VersionVector())
                let store = try SimulatedStore(
                    clone: path, of: snapshot[0], schema, name: name, file: drawFile())
                for batch in try SimulatedBatch.all(snapshot).dropFirst() {
                    _ = try store.merge(batch)
                }
                try store.completeCopy(mayLack: renaming != nil)
                stores.append(store)
            }
        }
    }

    /// Makes every replica known to the others.
    private func introduce() throws {
        for store in stores {
            _ = try store.replica.vector
            try store.replica.noteAcknowledged(
                Dictionary(
                    uniqueKeysWithValues: stores.map { ($0.replica.replicaID, VersionVector()) }))
        }
    }

    private mutating func grow() throws {
        try growth?.step(stores)
        try table?.step(stores)
        try loosening?.step(stores)
        try noting { try $0.tightening?.step($0.stores) }
        try renaming?.step(stores)
        try migrations?.step(stores)
        try noting { try $0.parents?.step($0.stores) }
        let isGrowing = migrations != nil || table != nil || parents != nil
        if isGrowing, random.chance(0.1) { try checkCloneInBetween() }
        try migrateSometimes()
        try collectSometimes()
        tally.purged += try purges?.step(stores) ?? 0
        try lieSometimes()
    }

    private mutating func lieSometimes() throws {
        guard let lie = try lies?.step(stores) else { return }
        let store = stores[lie.receiver]
        store.wall.milliseconds = clock.reading(skew: skews[lie.receiver])
        let before = try store.read()
        do {
            guard try store.merge(lie.batch) else {
                throw SimulationFailure("a snapshot was not merged: \(store.path)")
            }
        } catch let error as SyncError where error.code == .badData {
            // A replica that is not behind refuses it.
            try store.remember()
            guard store.tables == before else {
                throw SimulationFailure("a snapshot was refused and changed the tables")
            }
            tally.refusals += 1
            return
        }
        tally.lies += 1
        try noteDoubts()
        try store.checkConstraints()
    }

    /// Notes what migrations write, and what a cascade removes.
    private mutating func noting(_ migrate: (inout StoreSimulation) throws -> Void) throws {
        guard tightening != nil || parents != nil else { return }
        let before = try stores.map { texts(try $0.read()) }
        try migrate(&self)
        for (store, before) in zip(stores, before) {
            written.note(before: before, after: texts(try store.read()))
        }
    }

    // MARK: Collecting

    private mutating func collectSometimes() throws {
        guard collecting.chance(0.3) else { return }
        try collect(collecting.below(stores.count), hearing: 0.7)
    }

    /// Collects at one replica, and checks that neither tables nor open conflicts change.
    /// - Parameter hearing: the probability that another replica's acknowledgement has arrived.
    private mutating func collect(_ index: Int, hearing: Double) throws {
        guard collects else { return }
        let store = stores[index]
        store.wall.milliseconds = clock.reading(skew: skews[index])
        for other in stores where other.path != store.path && collecting.chance(hearing) {
            try store.replica.noteAcknowledged([other.replica.replicaID: try other.replica.vector])
        }
        let before = try store.read()
        let open = try store.replica.openConflicts()
        // Short leases: a replica that lacks something is absent at once, or from the next step on.
        let lease = collecting.pick((evicts ? [.seconds(-1), .zero] : []) + [StoreReplica.lease])
        let report = try store.collect(lease: lease, slice: collecting.pick([1, 3, 50]))
        guard try store.read() == before else {
            throw SimulationFailure("collecting changed the tables")
        }
        guard try store.replica.openConflicts() == open else {
            throw SimulationFailure("collecting changed the open conflicts")
        }
        tally.collected += report.objects + report.transactions
    }

    // MARK: Steps

    private mutating func step(_ step: Int) throws {
        clock.advance(milliseconds: 10)
        if duelEvery > 0 && step % duelEvery == 0 { return try duel() }
        let index = random.below(stores.count)
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.52: try edit(index, target: nil, random: random.fork())
        case ..<0.55: try stores[index].restart()
        case ..<0.57: try settle(index)
        case ..<0.58: try choose(index)
        case ..<0.61: try resolve(index)
        default:
            let other = random.below(stores.count)
            if other != index { try send(from: index, to: other) }
        }
    }

    private mutating func edit(
        _ index: Int, target: RandomWriter.Target?, random: SeededRandom
    ) throws {
        let store = stores[index]
        store.wall.milliseconds = clock.reading(skew: skews[index])
        var writer = RandomWriter(store, random: random, schedules: schedules)
        let before = texts(store.tables)
        guard try writer.write(target, focus: focus, tokens: &tokens) != nil else { return }
        try store.remember()
        written.note(before: before, after: texts(store.tables))
        tally.commits += 1
        // Else it is stated together with later commits.
        if Self.comparesLanes || Self.killsReplicas, stating.chance(0.6) { try store.state() }
    }

    /// No replica reads the file between the change of the schema and the writes.
    private mutating func migrateSometimes() throws {
        guard let (index, writes) = try migration?.step(stores) else { return }
        for random in writes { try edit(index, target: nil, random: random) }
    }

    private mutating func duel() throws {
        let entities = schema.merge.entities
        let operations = RandomWriter.Operation.allCases
        var entity = random.below(entities.count)
        let row = random.below(3)
        let first = random.pick(operations)
        var second = random.chance(0.4) ? first : random.pick(operations)
        let order = stores.indices.shuffled(using: &random)
        let before = stores[order[0]].tables
        try edit(
            order[0], target: .init(entity: entity, row: row, operation: first),
            random: random.fork())
        var key: [Value]?
        if !entities[entity].references.isEmpty && random.chance(0.5) {
            let reference = random.pick(entities[entity].references)
            key = RandomWriter.target(
                of: reference, in: entity, schema: schema.merge, before: before,
                after: stores[order[0]].tables)
            entity = reference.target
            second = random.pick([.delete, .delete, .changeKey, .deleteAndInsert, .writeUniques])
        }
        try edit(
            order[1], target: .init(entity: entity, row: row, operation: second, key: key),
            random: random.fork())
    }

    private mutating func settle(_ index: Int) throws {
        let before = try stores[index].read()
        let isDeletingHidden = (tally.closes + index) % 2 == 0
        do {
            try stores[index].replica.closeConflicts(
                author: "settler", isDeletingHidden: isDeletingHidden)
        } catch let error as SyncError where error.code == .refused && !isDeletingHidden {
            guard try stores[index].read() == before else {
                throw SimulationFailure("settling was refused and changed the tables")
            }
            return
        }
        guard try stores[index].read() == before else {
            throw SimulationFailure("settling changed the tables")
        }
        let left = try stores[index].closableConflicts()
        guard left == 0 else { throw SimulationFailure("settling left \(left) conflicts open") }
        tally.closes += 1
    }

    /// Changes the policies of one replica: the others adopt them with the next batch.
    private mutating func choose(_ index: Int) throws {
        let before = texts(try stores[index].read())
        var policies = try stores[index].replica.policies()
        for name in policies.entities.keys.sorted() where random.chance(0.5) {
            policies.entities[name]?.deletes = random.pick([.deleteWins, .editWins])
            policies.entities[name]?.unique = random.pick([.merge, .keepBoth, .laterLoses])
            for column in policies.entities[name]?.columns?.keys.sorted() ?? [] {
                let all: [CellPolicy] = [
                    .lastWriter, .firstWriter, .counter, .set, .text,
                ]
                policies.entities[name]?.columns?[column] = random.pick(all)
            }
        }
        do {
            try stores[index].replica.setPolicies(policies)
        } catch let error as SyncError where error.code == .invalidArgument && tightening != nil {
            // A UNIQUE or a CHECK has come over a column since it got its policy.
            return
        }
        try stores[index].remember()
        try stores[index].checkConstraints()
        written.note(before: before, after: texts(stores[index].tables))
    }

    private mutating func resolve(_ index: Int) throws {
        let conflicts = try stores[index].replica.conflicts()
        guard !conflicts.isEmpty else { return }
        let conflict = random.pick(conflicts)
        let before = texts(try stores[index].read())
        do {
            try stores[index].replica.resolve(
                conflict.id, keeping: random.chance(0.5) ? .losing : .shown, author: "judge")
        } catch let error as SyncError where error.code == .refused {
            return
        }
        try stores[index].remember()
        try stores[index].checkConstraints()
        written.note(before: before, after: texts(stores[index].tables))
        tally.closes += 1
    }

    /// Sends what the receiver lacks: sometimes more, sometimes a part.
    private mutating func send(from sender: Int, to receiver: Int) throws {
        var since = try stores[receiver].replica.vector
        if random.chance(0.3) {
            since = VersionVector(
                since.entries.map { Dot($0.replica, Int64(random.below(Int($0.number) + 1))) })
        }
        mayDiffer = try mayDiffer || stores[sender].replica.doubtful.count > 0
        let factsMax = random.pick([1, 5, 20, 1000])
        var batches = try SimulatedBatch.all(
            try stores[sender].replica.batches(since: since, factsMax: factsMax))
        if random.chance(0.3) { batches = Array(batches.prefix(random.below(batches.count + 1))) }
        for batch in batches {
            for item in network.send(batch, to: receiver, of: stores.count, using: &random) {
                let isMerged = try merge(item.message, at: item.to)
                try noteDoubts()
                try stores[item.to].checkConstraints()
                try compare()
                tally.merges += isMerged ? 1 : 0
                tally.refusals += isMerged ? 0 : 1
            }
        }
    }

    /// Merges what has arrived. A snapshot with gaps from before its sender signed is refused where
    /// the sender's key is known by now: what is gone has to be proved.
    private func merge(_ batch: SimulatedBatch, at index: Int) throws -> Bool {
        do {
            return try stores[index].merge(batch)
        } catch let error as SyncError where error.code == .notSigned {
            let envelope = try BatchEnvelope.read(batch.bytes).envelope
            guard envelope.signature == nil, envelope.hasGaps else { throw error }
            return false
        }
    }

    // MARK: Promises

    private mutating func exchange() throws {
        try growth?.finish(stores)
        try table?.finish(stores)
        try parents?.finish(stores)
        try loosening?.finish(stores)
        try noting { try $0.tightening?.finish($0.stores) }
        try migrations?.finish(stores)
        try exchangeUntilQuiet()
        try exchangeSchemas()
        let values = try growth?.values(stores[0])
        let rows = try table?.values(stores[0]) ?? parents?.values(stores[0])
        let expected = try stores[0].canonical()
        let open = try stores[0].openConflicts()
        var seen: Set<String> = []
        for store in stores {
            guard try store.canonical() == expected else {
                throw SimulationFailure("replicas differ: \(store.path)")
            }
            let others = try store.openConflicts()
            guard others == open else {
                throw SimulationFailure(
                    "open conflicts differ: \(store.path) has "
                        + "\(others.subtracting(open).sorted()), and not "
                        + "\(open.subtracting(others).sorted())")
            }
            guard try growth?.values(store) == values else {
                throw SimulationFailure("the new column differs: \(store.path)")
            }
            guard try table?.values(store) ?? parents?.values(store) == rows else {
                throw SimulationFailure("the new table differs: \(store.path)")
            }
            try store.checkConstraints()
            try store.checkHistory()
            try store.checkNumbers()
            let doubtful = try store.replica.doubtful
            guard doubtful.count == 0 else {
                throw SimulationFailure("\(store.path) has \(doubtful)")
            }
            seen.formUnion(texts(try store.read()).keys)
            seen.formUnion(try store.loggedTexts())
        }
        let comparisons = tally.comparisons
        mayDiffer = false
        try compare()
        guard tally.comparisons > comparisons else {
            throw SimulationFailure("replicas that have exchanged everything were not compared")
        }
        let lost = written.lost(seen)
        guard lost.isEmpty else { throw SimulationFailure("lost values \(lost)") }
        try checkNewReplica(expected, values: values, rows: rows)
    }

    /// Has each replica apply what it has heard of, until none has anything to apply.
    private mutating func exchangeSchemas() throws {
        try migrations?.finishDrops(stores)
        guard let migrations else { return }
        try exchangeUntilQuiet()
        for _ in 0...Self.roundsMax {
            let applied = try stores.filter { try migrations.apply($0) }
            try exchangeUntilQuiet()
            guard applied.isEmpty else { continue }
            try migrations.check(stores)
            self.migrations?.reset()
            return
        }
        throw SimulationFailure("the schemas do not come to rest")
    }

    private mutating func noteDoubts() throws {
        guard evicts || lies != nil else { return }
        let count = try stores.filter { try $0.replica.doubtful.count > 0 }.count
        tally.doubtful += count > 0 ? 1 : 0
        tally.doubtfulAtSeveral += count > 1 ? 1 : 0
    }

    private mutating func exchangeUntilQuiet() throws {
        for _ in 0...Self.roundsMax {
            var isQuiet = true
            let pairs = stores.indices.flatMap { from in stores.indices.map { (from, $0) } }
            for (from, to) in pairs.shuffled(using: &random) where from != to {
                let behind = try stores[to].replica.behind
                let awaited = try stores[to].replica.awaited
                let isAsked =
                    !behind.isEmpty
                    && (awaited.isEmpty || awaited.contains(stores[from].replica.replicaID))
                let since = isAsked ? VersionVector() : try stores[to].replica.vector
                for batch in try SimulatedBatch.all(
                    try stores[from].replica.batches(since: since))
                {
                    let envelope = try BatchEnvelope.read(batch.bytes).envelope
                    let cut = awaited.isEmpty ? envelope.collected : envelope.upTo
                    if isAsked, !cut.covers(behind) { continue }
                    isQuiet = false
                    guard try stores[to].merge(batch) else {
                        throw SimulationFailure("a gap in a full exchange")
                    }
                    try noteDoubts()
                    tally.merges += 1
                }
            }
            if isQuiet { return }
        }
        throw SimulationFailure("the exchange does not come to rest")
    }

    /// Has each replica compare what the others state; none may find a difference.
    private mutating func compare() throws {
        var sums: [ReplicaID: [UInt8]] = [:]
        for store in stores { sums[store.replica.replicaID] = try store.replica.sums }
        for store in stores {
            let differences = try store.replica.compare(sums)
            guard differences.isEmpty || mayDiffer else {
                throw SimulationFailure("\(store.path) says that replicas differ: \(differences)")
            }
            tally.comparisons += try store.replica.comparedCount(among: sums)
        }
    }

    private mutating func checkNewReplica(
        _ expected: [ObjectUID: [Field]], values: [ObjectUID: Value]?, rows: [ObjectUID: [Value]]?
    ) throws {
        guard let store = try clone(of: random.pick(stores)) else { return }
        try table?.finish(clone: store)
        try parents?.finish(clone: store)
        if let migrations {
            for _ in 0..<Self.roundsMax { try migrations.apply(store) }
            try migrations.check([stores[0], store])
        }
        guard try store.canonical() == expected else {
            throw SimulationFailure("a new replica differs")
        }
        guard try growth?.values(store) == values else {
            throw SimulationFailure("the new column of a new replica differs")
        }
        guard try table?.values(store) ?? parents?.values(store) == rows else {
            throw SimulationFailure("the new table of a new replica differs")
        }
        try store.checkConstraints()
        if signsAfter == 0 { try features?.check(store) }
        tally.lane.add(store.lane)
        try store.close()
    }

    /// Checks a new replica, made from one that may lack a table whose rows it keeps: it shows them
    /// when it has the table.
    private mutating func checkCloneInBetween() throws {
        guard let store = try clone(of: random.pick(stores)) else { return }
        try store.checkConstraints()
        try table?.finish(clone: store)
        try parents?.finish(clone: store)
        try migrations?.apply(store)
        _ = try store.replica.vector
        try store.checkConstraints()
        _ = try table?.values(store) ?? parents?.values(store)
        try store.close()
    }

    private mutating func clone(of other: SimulatedStore) throws -> SimulatedStore? {
        let path = folder + "/Z.db"
        for ending in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + ending)
        }
        let batches = try other.replica.batches(
            since: VersionVector(), factsMax: random.pick([3, 30, 1000]))
        guard let first = batches.first else { return nil }
        let store = try SimulatedStore(
            clone: path, of: first, other.schema, name: "Z", file: drawFile())
        for batch in try SimulatedBatch.all(batches).dropFirst() { _ = try store.merge(batch) }
        try migrations?.noteTables(of: store)
        try store.completeCopy(mayLack: renaming != nil || migrations != nil)
        return store
    }

    private func texts(_ tables: [RowKey: [Value]]) -> [String: Int] {
        WrittenTexts.count(in: tables, schema: schema)
    }
}

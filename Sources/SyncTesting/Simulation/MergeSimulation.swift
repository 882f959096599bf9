import SyncMerge
import SyncReplica

/// One random schedule of replicas that write, exchange batches over an unreliable network, close
/// conflicts and collect, on real SQLite with a random schema; everything follows from the seed.
///
/// What is checked: see ``SimulatedReplica`` for each step; after every full exchange
/// - the tables are equal on all replicas, and no replica lacks anything;
/// - all facts of all transactions, joined in a random order by an empty replica, give the same
///   tables and the same open conflicts;
/// - every text ever committed is visible, was removed by a writer that saw it, or is in a log.
package struct MergeSimulation {
    /// What a schedule did.
    package struct Tally: Sendable {
        /// Local transactions.
        package var commits = 0
        /// Batches that arrived.
        package var merges = 0
        /// Batches that were refused, because they start after what the receiver had merged.
        package var refusals = 0
        /// Dead objects that were collected.
        package var collected = 0
        /// Transactions that were purged from history.
        package var purged = 0
        /// Processes that were killed.
        package var kills = 0
        /// Merges after which rows were doubtful.
        package var doubtful = 0
        /// Merges after which rows were doubtful at several replicas.
        package var doubtfulAtSeveral = 0
        /// Snapshots that left out what their sender had, and were merged.
        package var lies = 0
        /// Statements of other replicas that were compared.
        package var comparisons = 0
        /// Transactions that turned repairs into facts.
        package var closes = 0
        /// Facts that were needed only to keep a view equal to the tables.
        package var adoptions = 0
        /// Commits that made room for rows which a constraint had kept out of the tables.
        package var roomings = 0
        /// Rows that a constraint keeps out of the tables, at the end.
        package var heldBack = 0
        /// Open conflicts at the end.
        package var conflicts = 0
        /// Objects shown although deleted, at the end.
        package var revived = 0
        /// Rows of several objects, at the end.
        package var unified = 0
        /// Rows that got another number because another row had claimed theirs earlier.
        package var renumbered = 0
        /// What the rules of the fast lane decided, where they were checked.
        package var lane = LaneTally()

        /// Nothing yet.
        package init() {}

        /// Adds up.
        package mutating func add(_ other: Tally) {
            commits += other.commits
            merges += other.merges
            refusals += other.refusals
            collected += other.collected
            purged += other.purged
            kills += other.kills
            doubtful += other.doubtful
            doubtfulAtSeveral += other.doubtfulAtSeveral
            lies += other.lies
            closes += other.closes
            comparisons += other.comparisons
            adoptions += other.adoptions
            roomings += other.roomings
            heldBack += other.heldBack
            conflicts += other.conflicts
            revived += other.revived
            unified += other.unified
            renumbered += other.renumbered
            lane.add(other.lane)
        }
    }

    /// The behaviour of the writers of this schedule; drawn once.
    private struct Habits {
        let duelEvery: Int
        let focus: RandomWriter.Target?
        let collects: Bool
        let closes: Bool
        let hasCommonStart: Bool
        let hasSecondAct: Bool
    }

    private static let roundsMax = 4
    /// Renumbering states transactions of its own while replicas exchange.
    private static let renumberingRoundsMax = 3

    private let schema: SimulatedSchema
    private let habits: Habits
    private let skews: [Int64]
    private let steps: Int
    private var replicas: [SimulatedReplica] = []
    private var random: SeededRandom
    private var clock = VirtualClock()
    private var network = UnreliableNetwork<[UInt8]>(
        faults: .init(delay: 0.25, release: 0.7, duplication: 0.5))
    private var tokens = RandomWriter.Tokens()
    private var transactions: [RecordedCommit] = []
    private var written = WrittenTexts()
    private var tally = Tally()

    /// Runs the schedule of a seed.
    /// - Parameter steps: how many steps before the exchange; nil: drawn.
    /// - Throws: ``SimulationFailure``, or what the engine throws.
    package static func run(seed: UInt64, steps: Int? = nil) throws -> Tally {
        var simulation = try MergeSimulation(seed: seed, steps: steps)
        return try simulation.run()
    }

    /// Runs the schedule of a seed and returns its replicas as they are at the end.
    /// - Throws: ``SimulationFailure``, or the errors of the engine.
    package static func replicas(seed: UInt64) throws -> [SimulatedReplica] {
        var simulation = try MergeSimulation(seed: seed, steps: nil)
        _ = try simulation.run()
        return simulation.replicas
    }

    private init(seed: UInt64, steps: Int?) throws {
        var random = SeededRandom(seed: seed)
        schema = RandomSchema.draw(&random)
        let count = random.pick([2, 2, 2, 3, 3, 4, 5])
        self.steps = steps ?? random.pick([6, 8, 10, 12] + (count > 2 ? [16, 24] : []))
        for index in 0..<count {
            let name = Character(Unicode.Scalar(UInt8(65 + index)))
            replicas.append(
                try SimulatedReplica(name, schema: schema, seed: seed &* 31 &+ UInt64(index)))
        }
        skews = (0..<count).map { _ in random.pick([0, 0, 0, -50, 50, 1000, 157_680_000_000]) }
        let operations = RandomWriter.Operation.allCases
        let entities = schema.merge.entities
        let busy = entities.indices.filter { !entities[$0].references.isEmpty }
        habits = Habits(
            duelEvery: random.pick([0, 2, 3, 5]),
            focus: random.chance(0.6)
                ? .init(
                    entity: random.pick(busy + Array(entities.indices)), row: 0,
                    operation: random.pick(operations)) : nil,
            collects: random.chance(0.4), closes: random.chance(0.3),
            hasCommonStart: random.chance(0.6), hasSecondAct: random.chance(0.35))
        self.random = random
    }

    private mutating func run() throws -> Tally {
        if habits.hasCommonStart { try populate() }
        for step in 0..<steps { try self.step(step) }
        if habits.hasSecondAct {
            try exchange()
            try collectEverywhere()
            for step in steps..<steps + random.pick([4, 8, 12]) { try self.step(step) }
        }
        try exchange()
        tally.conflicts = replicas[0].view.conflicts.count
        tally.revived = replicas[0].view.revived.count
        tally.heldBack = replicas[0].view.heldBack.count
        tally.unified = replicas[0].view.rows.values.filter { $0.members.count > 1 }.count
        return tally
    }

    // MARK: Steps

    private mutating func step(_ step: Int) throws {
        clock.advance(milliseconds: 10)
        if habits.duelEvery > 0 && step % habits.duelEvery == 0 { return try duel() }
        let replica = random.below(replicas.count)
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.47: try edit(replica, target: nil, random: random.fork())
        case ..<0.50 where habits.collects:
            tally.collected += try replicas[replica].collect(replicas.map(\.id))
        case ..<0.52 where habits.closes && !replicas[replica].state.objects.isEmpty:
            transactions.append(try replicas[replica].close(wall: wall(replica)))
            tally.closes += 1
        default:
            let other = random.below(replicas.count)
            if other != replica { try send(from: replica, to: other) }
        }
    }

    private func wall(_ replica: Int) -> Int64 { clock.reading(skew: skews[replica]) }

    private mutating func edit(
        _ index: Int, target: RandomWriter.Target?, random: SeededRandom
    ) throws {
        let replica = replicas[index]
        var writer = RandomWriter(replica, random: random)
        guard let edit = try writer.write(target, focus: habits.focus, tokens: &tokens) else {
            return
        }
        try commit(index, recreated: edit.recreated, rekeyed: edit.rekeyed)
    }

    private mutating func commit(
        _ index: Int, recreated: Set<RowKey> = [], rekeyed: [RowKey: RowKey] = [:]
    ) throws {
        let before = texts(replicas[index].tables)
        let recorded = try replicas[index].commit(
            recreated: recreated, rekeyed: rekeyed, wall: wall(index))
        guard let recorded else { return }
        transactions.append(recorded)
        written.note(before: before, after: texts(replicas[index].committed))
        tally.commits += 1
        tally.adoptions += recorded.adoptionCount
        tally.roomings += recorded.isSettled ? 0 : 1
    }

    /// Two or three replicas change the same object, or an object and what it refers to, at once.
    private mutating func duel() throws {
        let entities = schema.merge.entities
        let operations = RandomWriter.Operation.allCases
        var entity = random.below(entities.count)
        let row = random.below(3)
        let first = random.pick(operations)
        var second = random.chance(0.4) ? first : random.pick(operations)
        let order = replicas.indices.shuffled(using: &random)
        let before = replicas[order[0]].tables
        try edit(
            order[0], target: .init(entity: entity, row: row, operation: first),
            random: random.fork())
        let third = RandomWriter.Target(entity: entity, row: row, operation: second)
        var meeting = row
        var key: [Value]?
        if !entities[entity].references.isEmpty && random.chance(0.5) {
            let reference = random.pick(entities[entity].references)
            key = RandomWriter.target(
                of: reference, in: entity, schema: schema.merge, before: before,
                after: replicas[order[0]].tables)
            entity = reference.target
            second = random.pick([.delete, .delete, .changeKey, .deleteAndInsert, .writeUniques])
            meeting = random.below(3)
        }
        try edit(
            order[1], target: .init(entity: entity, row: meeting, operation: second, key: key),
            random: random.fork())
        if random.chance(0.4) {
            try edit(random.below(replicas.count), target: third, random: random.fork())
        }
    }

    /// Sends what the receiver lacks: sometimes more (facts that it has), sometimes less (a cut).
    private mutating func send(from sender: Int, to receiver: Int) throws {
        let source = replicas[sender]
        var since = replicas[receiver].state.vector
        if random.chance(0.3) {
            since = VersionVector(
                since.entries.map { Dot($0.replica, Int64(random.below(Int($0.number) + 1))) })
        }
        let count = random.chance(0.3) ? random.below(source.state.order.count + 1) : nil
        let delta = source.state.delta(since: since, first: count)
        let bytes = try BatchEncoder.encode(
            Batch(delta, schema: schema.merge, store: SimulatedReplica.store, sender: source.id))
        let arriving = network.send(bytes, to: receiver, of: replicas.count, using: &random)
        for (place, item) in arriving.enumerated() {
            let batch = try BatchDecoder.decode(item.message).resolved(in: schema.merge)
            let isMerged = try replicas[item.to].receive(batch.delta)
            tally.merges += isMerged ? 1 : 0
            tally.refusals += isMerged ? 0 : 1
            if place == 0 && isMerged && count == nil {
                replicas[receiver].acknowledge(source.state.vector, of: source.id)
            }
        }
        if !arriving.isEmpty {
            source.acknowledge(replicas[receiver].state.vector, of: replicas[receiver].id)
        }
    }

    /// Rows that all replicas have seen before the schedule starts.
    private mutating func populate() throws {
        let replica = replicas[0]
        for _ in 0..<2 {
            var writer = RandomWriter(replica, random: random.fork())
            try replica.database.run("BEGIN")
            for _ in 0..<4 {
                let entity = random.below(schema.merge.entities.count)
                let row = writer.newRow(in: entity, rows: try replica.read(), tokens: &tokens)
                try replica.database.run(schema.insert(entity), with: row)
            }
            if try replica.database.run("COMMIT") == nil {
                try replica.database.run("ROLLBACK")
            } else {
                try commit(0)
            }
        }
        for other in replicas.dropFirst() {
            try other.receive(replica.state.delta(since: VersionVector()))
        }
    }

    private mutating func collectEverywhere() throws {
        for _ in 0..<2 {
            for replica in replicas {
                for other in replicas where other !== replica {
                    replica.acknowledge(other.state.vector, of: other.id)
                }
            }
            for replica in replicas where random.chance(0.7) {
                tally.collected += try replica.collect(replicas.map(\.id))
            }
        }
    }

    // MARK: Promises

    private mutating func exchange() throws {
        try exchangeUntilQuiet()
        noteRenumberings()
        for replica in replicas { try replica.checkNumbers() }
        let expected = try replicas[0].canonical()
        for replica in replicas.dropFirst() where try replica.canonical() != expected {
            throw SimulationFailure("replicas differ")
        }
        try checkOrderIndependence(expected)
        var seen = Set<String>()
        for replica in replicas {
            seen.formUnion(texts(replica.tables).keys)
            for conflict in replica.log.values {
                for case .value(.text(let text)) in conflict.value {
                    seen.formUnion(WrittenTexts.parts(ofLogged: text))
                }
            }
        }
        let lost = written.lost(seen)
        guard lost.isEmpty else { throw SimulationFailure("lost values \(lost)") }
    }

    private mutating func exchangeUntilQuiet() throws {
        let renumberingMax = schema.merge.sharesNumbers ? Self.renumberingRoundsMax : 0
        for _ in 0...Self.roundsMax + renumberingMax {
            var isQuiet = true
            let pairs = replicas.indices.flatMap { from in replicas.indices.map { (from, $0) } }
            for (from, to) in pairs.shuffled(using: &random) where from != to {
                let delta = replicas[from].state.delta(since: replicas[to].state.vector)
                if delta.isEmpty { continue }
                isQuiet = false
                guard try replicas[to].receive(delta) else {
                    throw SimulationFailure("a gap in a full exchange")
                }
            }
            if isQuiet { return }
        }
        throw SimulationFailure("the exchange does not come to rest")
    }

    private mutating func noteRenumberings() {
        for replica in replicas {
            let renumberings = replica.takeRenumberings()
            transactions += renumberings
            tally.renumbered += renumberings.reduce(0) { $0 + $1.facts.count }
        }
    }

    private mutating func checkOrderIndependence(_ expected: [ObjectUID: [Field]]) throws {
        let fresh = try SimulatedReplica("Z", schema: schema, seed: 1)
        for transaction in transactions.shuffled(using: &random) {
            fresh.state.insert(transaction.header)
            for fact in transaction.facts { fresh.state.insert(fact) }
        }
        try fresh.show(View(fresh.state))
        guard try fresh.canonical() == expected else {
            throw SimulationFailure("the order of transactions matters")
        }
        let open = Set(replicas[0].view.conflicts.keys)
        guard tally.collected > 0 || Set(fresh.view.conflicts.keys) == open else {
            throw SimulationFailure("open conflicts differ")
        }
    }

    private func texts(_ tables: [RowKey: [Value]]) -> [String: Int] {
        WrittenTexts.count(in: tables, schema: schema)
    }
}

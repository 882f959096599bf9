import SyncMerge

/// One replica of a simulated store: a state, its view, and the view's image in real SQLite.
///
/// Invariants, checked at every step: SQLite accepts the image of every view with all constraints;
/// what SQLite holds is the image of `view`; after a settled commit the view is what was committed;
/// a write drops no value that was neither shown nor logged.
package final class SimulatedReplica: SimulatedTables {
    /// Its name among the replicas.
    package let id: ReplicaID
    /// What it has merged.
    package internal(set) var state: MergeState
    /// What it shows.
    package internal(set) var view: View
    /// The identity of each row of its tables.
    package private(set) var names: [RowKey: ObjectUID] = [:]
    /// Everything that was ever in its conflict log.
    package private(set) var log: [VersionID: Conflict] = [:]
    /// What its tables hold.
    package private(set) var tables: [RowKey: [Value]] = [:]
    /// What they held after the last commit, before rows that it made room for were shown.
    package private(set) var committed: [RowKey: [Value]] = [:]

    let schema: SimulatedSchema
    let database: WriterDatabase
    var collector = Collector()
    var acknowledged: [ReplicaID: VersionVector] = [:]
    private var clock = HybridClock()
    private(set) var wall: Int64 = 0
    private var number: Int64 = 0
    private var numbers = NumberMap()
    /// The transactions by which this replica renumbered rows, since they were taken last.
    var renumberings: [RecordedCommit] = []
    private var random: SeededRandom

    /// How far ahead simulated peers may be before their clock is contained.
    private static let driftMax = Duration.milliseconds(500)

    /// An empty replica; names must differ.
    /// - Throws: `SimulationFailure` when SQLite refuses the schema.
    package init(_ name: Character, schema: SimulatedSchema, seed: UInt64) throws {
        id = Self.id(name)
        self.schema = schema
        state = MergeState(schema: schema.merge)
        view = View(state)
        random = SeededRandom(seed: seed)
        database = try WriterDatabase()
        for statement in schema.statements { try database.run(statement) }
        try database.run("PRAGMA foreign_keys=ON")
    }

    /// The family that all simulated replicas belong to.
    package static let store: StoreID = {
        guard let store = StoreID(String(repeating: "5", count: 32)) else {
            preconditionFailure("32 hexadecimal digits name a store")
        }
        return store
    }()

    /// The identity of the replica with this name.
    package static func id(_ name: Character) -> ReplicaID {
        let digits = String(Int(name.asciiValue ?? 0x3f), radix: 16)
        guard let id = ReplicaID(digits + String(repeating: "0", count: 32 - digits.count)) else {
            preconditionFailure("32 hexadecimal digits name a replica")
        }
        return id
    }

    // MARK: Local commits

    /// All rows, as SQLite has them.
    /// - Throws: `SimulationFailure` when SQLite refuses the query.
    package func read() throws -> [RowKey: [Value]] {
        var rows: [RowKey: [Value]] = [:]
        for (position, entity) in schema.merge.entities.enumerated() {
            for row in try database.run(schema.select(position)) ?? [] {
                rows[schema.merge.key(position, entity.key.map { row[$0] })] = row
            }
        }
        return rows
    }

    /// Records what was committed in `database` since the last step.
    /// - Returns: the transaction; nil when nothing changed.
    /// - Throws: `SimulationFailure` for a broken invariant, or the errors of the engine.
    package func commit(
        recreated: Set<RowKey> = [], rekeyed: [RowKey: RowKey] = [:], wall: Int64? = nil
    ) throws -> RecordedCommit? {
        let after = try read()
        if after == tables && recreated.isEmpty { return nil }
        let rows = after.sorted { schema.merge.precedes($0.key, $1.key) }
        let commit = Commit(
            rows: rows.map { Commit.Row($0.key, values: $0.value) }, recreated: recreated,
            rekeyed: rekeyed)
        let header = next(wall)
        var generator = random
        let recorded = try state.record(
            commit, view: view, names: names, dot: header.dot, time: header.time
        ) { ObjectUID(high: generator.next(), low: generator.next()) }
        random = generator
        try checkNothingIsDropped(recorded)
        try checkNothingUnseenIsDeleted(recorded)
        numbers.adopt(recorded, schema: schema.merge)
        state = recorded.state
        committed = after
        guard recorded.isSettled else {
            names = recorded.names
            tables = after
            try show(recorded.view)
            return recorded
        }
        let image = try Image(
            of: recorded.view, schema: schema.merge, numbers: &numbers, before: recorded.names,
            rows: after)
        guard image.rows == after else {
            throw SimulationFailure("the view after a commit differs from what was committed")
        }
        tables = after
        adopt(recorded.view, image: image)
        try renumber()
        return recorded
    }

    /// Records what is shown as facts.
    /// - Throws: `SimulationFailure` for a broken invariant, or the errors of the engine.
    package func close(wall: Int64? = nil) throws -> RecordedCommit {
        let header = next(wall)
        let recorded = try state.close(
            view: view, names: names, dot: header.dot, time: header.time)
        try checkNothingIsDropped(recorded)
        let before = tables
        state = recorded.state
        names = recorded.names
        numbers.adopt(recorded, schema: schema.merge)
        try show(recorded.view)
        guard tables == before else { throw SimulationFailure("closing changed the tables") }
        try renumber()
        return recorded
    }

    func next(_ wall: Int64?) -> (dot: Dot, time: HybridTime) {
        number += 1
        self.wall = wall ?? clock.last.milliseconds + 10
        return (Dot(id, number), clock.reading(wall: self.wall))
    }

    private func checkNothingIsDropped(_ recorded: RecordedCommit) throws {
        let shown = Set(
            view.rows.values.flatMap { $0.sources.compactMap { $0 } + $0.blended })
        for fact in state.currentVersions.subtracting(recorded.state.currentVersions)
        where !isNumber(fact) && !shown.contains(fact) && log[fact] == nil && !isShown(fact)
            && !state.isAttributedDefault(fact)
        {
            throw SimulationFailure("a write dropped a value that was neither shown nor logged")
        }
    }

    /// A commit deletes rows of the tables, and no object that these do not show.
    private func checkNothingUnseenIsDeleted(_ recorded: RecordedCommit) throws {
        for case .life(let uid, _, let life) in recorded.facts
        where life.kind == .deleted && view.shownAs[uid] == nil
            && state.objects[uid].map({ state.isAlive($0) }) ?? false
        {
            throw SimulationFailure("a commit deletes an object that its writer did not see")
        }
    }

    private func isNumber(_ fact: VersionID) -> Bool {
        guard let record = state.objects[fact.object] else { return false }
        return schema.merge.entities[record.entity].numberCell == fact.cell
    }

    private func isShown(_ fact: VersionID) -> Bool {
        guard let record = state.objects[fact.object] else { return false }
        return record.cells[fact.cell].contains {
            $0.dot == fact.dot
                && view.shows(
                    state.literal($0), cell: fact.cell, of: fact.object, schema: schema.merge)
        }
    }

    // MARK: Merging

    /// Merges what another replica sent; false when it starts after what is here.
    /// - Throws: `SimulationFailure` for a broken invariant, or the errors of the engine.
    @discardableResult
    package func receive(_ delta: Delta) throws -> Bool {
        let before = state.vector
        guard state.merge(delta) else { return false }
        for header in delta.headers {
            _ = clock.observe(header.time, wall: wall, driftMax: Self.driftMax)
        }
        if state.vector != before {
            try show(View(state))
            try renumber()
        }
        return true
    }

    /// Records what another replica is known to have merged, once all of its own transactions up to
    /// there are here.
    package func acknowledge(_ vector: VersionVector, of other: ReplicaID) {
        if state.vector[other] >= vector[other] { acknowledged[other] = vector }
    }

    /// Collects objects that all of `replicas` know to be dead.
    /// - Throws: `SimulationFailure` for a broken invariant, or the errors of the engine.
    package func collect(_ replicas: [ReplicaID]) throws -> Int {
        guard replicas.allSatisfy({ $0 == id || acknowledged[$0] != nil }) else { return 0 }
        let own = VersionVector(replicas.map { Dot($0, state.vector[$0]) })
        let stable = Collector.stableCut(own: own, acknowledged: acknowledged.values)
        let dropped = collector.collect(&state, stable: stable)
        if dropped > 0 {
            let before = view
            view = View(state)
            guard view.rows.mapValues(\.fields) == before.rows.mapValues(\.fields) else {
                throw SimulationFailure("collection changed the view")
            }
        }
        return dropped
    }

    /// Writes the view into the tables.
    func show(_ view: View) throws {
        let image = try Image(
            of: view, schema: schema.merge, numbers: &numbers, before: names, rows: tables)
        if image.rows != tables {
            try write(image.rows)
            tables = try read()
            guard tables == image.rows else { throw SimulationFailure("the image differs") }
        }
        adopt(view, image: image)
        try checkSources()
        try checkLostNumbers()
    }

    private func adopt(_ view: View, image: Image) {
        self.view = view
        names = image.names
        log.merge(view.conflicts) { _, new in new }
    }

    /// UNIQUE is checked row by row: every row that changes is deleted before any is inserted.
    private func write(_ image: [RowKey: [Value]]) throws {
        try database.run("PRAGMA foreign_keys=OFF")
        try database.run("BEGIN")
        for (key, row) in tables where image[key] != row {
            try database.run(schema.delete(key.entity), with: key.values)
        }
        for (key, row) in image where tables[key] != row {
            guard try database.run(schema.insert(key.entity), with: row) != nil else {
                throw SimulationFailure("a constraint refuses \(row) after a merge")
            }
        }
        try database.run("COMMIT")
        guard try schema.danglingReferences(in: database).isEmpty else {
            throw SimulationFailure("a reference dangles after a merge")
        }
        try database.run("PRAGMA foreign_keys=ON")
    }

    /// Checks that a cell which the view attributes to a fact has the value of that fact, and that
    /// this is none of a row which was deleted, where the row that was inserted since has its own.
    private func checkSources() throws {
        for row in view.rows.values {
            for (cell, source) in row.sources.enumerated() {
                let policy = schema.merge.entities[row.entity].policies[cell]
                guard let source, !policy.isBlending,
                    cell != schema.merge.entities[row.entity].numberCell
                else { continue }
                guard let record = state.objects[source.object],
                    let version = record.cells[cell].first(where: { $0.dot == source.dot })
                else { throw SimulationFailure("a row shows a fact that is not here") }
                let isNewer = record.cells[cell].contains { !state.isEnded($0, in: record) }
                if record.isInserted, isNewer, state.isEnded(version, in: record) {
                    throw SimulationFailure("a row shows a value of one that was deleted before it")
                }
                let columns = schema.merge.entities[row.entity].cells[cell]
                let shown = columns.map { row.fields[$0] }
                guard version.value.map(view.resolved) == shown else {
                    throw SimulationFailure("a row claims to show a fact that it does not show")
                }
            }
        }
    }

    // MARK: Comparison

    /// The tables without what is private to this replica: each row by identity, references by the
    /// identity of their target.
    /// - Throws: `SimulationFailure` for a row without an identity.
    package func canonical() throws -> [ObjectUID: [Field]] {
        var rows: [ObjectUID: [Field]] = [:]
        for (key, row) in try read() {
            guard let name = names[key] else {
                throw SimulationFailure("a row without identity")
            }
            let entity = schema.merge.entities[key.entity]
            var fields = row.map(Field.value)
            if entity.hasPrivateNumbers { fields[entity.key[0]] = .value(.null) }
            for reference in entity.references {
                let target = reference.columns.map { row[$0] }
                if target.contains(.null) { continue }
                let uid = names[schema.merge.key(reference.target, target)] ?? name
                for (part, column) in reference.columns.enumerated() {
                    fields[column] = .reference(uid, part: part)
                }
            }
            rows[name] = fields
        }
        return rows
    }
}

extension ObjectRecord {
    /// Whether an insert of the newest incarnation stands, beside whatever delete.
    fileprivate var isInserted: Bool {
        life.contains { $0.kind == .created && $0.incarnation == incarnation }
    }
}

extension MergeState {
    /// The versions that no delete has ended.
    var currentVersions: Set<VersionID> {
        var current: Set<VersionID> = []
        for (uid, record) in objects {
            for (cell, versions) in record.cells.enumerated() {
                for version in versions where !isEnded(version, in: record) {
                    current.insert(VersionID(uid, cell: cell, dot: version.dot))
                }
            }
        }
        return current
    }
}

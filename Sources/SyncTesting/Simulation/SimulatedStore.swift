import Foundation
import SyncReplica
import Synchronization

/// One replica of a simulated store: a real file, tracked, with a foreign writer and a
/// ``StoreReplica`` on it. Time and identities are the simulation's, so that a seed replays.
final class SimulatedStore: SimulatedTables {
    /// The clock of the replica's machine.
    final class Wall: Sendable {
        private let now = Mutex<Int64>(0)
        var milliseconds: Int64 {
            get { now.withLock { $0 } }
            set { now.withLock { $0 = newValue } }
        }
    }

    let path: String
    /// With the present names.
    var schema: SimulatedSchema
    let wall = Wall()
    var database: WriterDatabase
    private(set) var replica: StoreReplica
    private(set) var tables: [RowKey: [Value]] = [:]
    /// A tracked table that the schema of the simulation does not have.
    var addedTable: String?
    /// Whether it was dropped once. It comes back as the same one, unless another table has had its
    /// name meanwhile.
    var hasDroppedTable = false
    /// More such tables (``ConcurrentMigrations``).
    var addedTables: [String] = []
    /// Whether it has the column that replicas get at different moments.
    var hasGrown = false
    /// Whether something was renamed since the replica last read the file.
    var hasUnseenNames = false
    /// What the rules of the fast lane decided in processes that have ended.
    private var formerLane = LaneTally()
    /// Whether a table lost its triggers since the replica last read the file.
    var hasLostTriggers = false
    /// How often what was committed here was stated by both ways.
    var statements = 0
    /// How often its process was killed.
    var kills = 0
    /// Whether history may lack transactions.
    private var hasPurged = false

    /// Transactions that a copied file had already: local ones in its history.
    private let inherited: Int64

    /// Which of its transactions are several for others.
    let partition: PartitionLimits

    static let driftMax = Duration.milliseconds(500)

    /// A new store: `populate` writes rows before it is tracked.
    convenience init(
        first path: String, _ schema: SimulatedSchema, name: Character, file: SimulatedFile,
        isSigning: Bool = true, populate: (WriterDatabase) throws -> Void
    ) throws {
        let database = try WriterDatabase(path)
        for statement in file.statements { try database.run(statement) }
        try database.run("PRAGMA synchronous = OFF")
        try database.run("PRAGMA foreign_keys = ON")
        for statement in schema.statements + schema.triggers { try database.run(statement) }
        try populate(database)
        try Store.track(path)
        for statement in file.storeStatements { try database.run(statement) }
        try database.run("UPDATE syncd_meta SET value = 0 WHERE key = 'created'")
        try self.init(path, schema: schema, name: name, database: database)
        try replica.setPolicies(schema.policies)
        if isSigning { try replica.startSigning() }
    }

    /// A replica made from another one's snapshot.
    convenience init(
        clone path: String, of snapshot: [UInt8], _ schema: SimulatedSchema, name: Character,
        file: SimulatedFile
    ) throws {
        try StoreReplica.create(at: path, from: snapshot, wall: { 0 }).close()
        let database = try WriterDatabase(path)
        try database.run("PRAGMA journal_mode = \(file.journalMode)")
        for statement in file.storeStatements { try database.run(statement) }
        try self.init(
            path, schema: schema.named(as: try Self.presentNames(in: database)), name: name,
            database: database)
    }

    /// What a file calls its tables and columns, by their first names.
    private static func presentNames(
        in database: WriterDatabase
    ) throws -> [(table: String, column: String, name: String)] {
        let isThere = "SELECT count(*) FROM sqlite_schema WHERE name = 'syncd_name'"
        guard try database.run(isThere) == [[1]] else { return [] }
        let rows = try database.run(
            "SELECT entity, part, name FROM syncd_name WHERE coalesce(number, 0) >= 0")
        return (rows ?? []).compactMap { row in
            guard case .text(let table) = row[0], case .text(let column) = row[1],
                case .text(let name) = row[2]
            else { return nil }
            return (table, column, name)
        }
    }

    /// Takes over what the file calls its tables and columns now, and which of some tables it has.
    func takeNames(tables: [String]) throws {
        schema = schema.named(as: try Self.presentNames(in: database))
        let live = try database.run(
            "SELECT lower(name) FROM syncd_entity WHERE coalesce(retired, 0) = 0")
        let names = Set((live ?? []).map { $0[0] })
        addedTables = tables.filter { names.contains(.text($0)) }
    }

    /// A replica that is a copy of another one's file.
    convenience init(
        copy path: String, of other: SimulatedStore, name: Character
    ) throws {
        try other.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: other.path, toPath: path)
        try StoreReplica(path).close()  // finds out that it is a copy
        try self.init(
            path, schema: other.schema, name: name, database: try WriterDatabase(path), isCopy: true
        )
    }

    private init(
        _ path: String, schema: SimulatedSchema, name: Character, database: WriterDatabase,
        isCopy: Bool = false
    ) throws {
        self.path = path
        self.schema = schema
        self.database = database
        let headers = "SELECT count(*) FROM sqlite_schema WHERE name = 'syncd_header'"
        let isCopy = try isCopy && database.run(headers) == [[1]]
        let known = isCopy ? try database.run("SELECT count(*) FROM syncd_header") : nil
        if case .integer(let count)? = known?[0][0] { inherited = count } else { inherited = 0 }
        let names: [(String, any Identified)] = [
            ("store", SimulatedReplica.store), ("replica", SimulatedReplica.id(name)),
        ]
        for (key, name) in names {
            let value = "X'\(name.description)'"
            try database.run("UPDATE syncd_meta SET value = \(value) WHERE key = '\(key)'")
        }
        partition = Self.partition(of: name, schema)
        replica = try Self.open(path, wall: wall, partition: partition)
        try setUp()
    }

    /// Some replicas state any transaction of several facts in parts.
    private static func partition(
        of name: Character, _ schema: SimulatedSchema
    ) -> PartitionLimits {
        var limits = PartitionLimits()
        let size = schema.statements.reduce(0) { $0 + $1.utf8.count }
        switch (size + Int(name.asciiValue ?? 0)) % 5 {
        case 0: (limits.factsMax, limits.partChangesMax) = (2, 1)
        case 1: (limits.factsMax, limits.partChangesMax) = (5, 2)
        case 2: limits.partChangesMax = 1
        default: break
        }
        return limits
    }

    private static func open(
        _ path: String, wall: Wall, partition: PartitionLimits
    ) throws -> StoreReplica {
        try StoreReplica(
            path, wall: { wall.milliseconds }, driftMax: driftMax,
            isVerifying: StoreSimulation.isVerifying, mayDangle: StoreSimulation.mayDangle,
            isCheckingLane: StoreSimulation.isCheckingLane,
            usesLane: StoreSimulation.usesLane, usesLocalLane: StoreSimulation.usesLane,
            // One of the replicas as where much was written.
            leftRowsMax: path.hasSuffix("/B.db") ? 0 : LiveLog.leftRowsMax, partition: partition)
    }

    private func setUp() throws {
        try database.run("PRAGMA synchronous = OFF")
        try database.run("PRAGMA foreign_keys = ON")
        tables = try read()
    }

    /// Makes what a new replica has beside the tracked tables.
    /// - Parameter mayLack: some may not be made: replicas have other names for tables and columns.
    func completeCopy(mayLack: Bool) throws {
        let wall = wall
        let copy = try StoreReplica.completeCopy(at: path, wall: { wall.milliseconds })
        guard mayLack || copy.refused.isEmpty else {
            throw SimulationFailure("a new replica is not complete: \(copy.refused)")
        }
        try willCommit()
        try remember()
    }

    /// Ends the process, and opens the file with another one. A store that an earlier version made
    /// has records of such a version then.
    func restart() throws {
        formerLane = lane
        try replica.close()
        database = try WriterDatabase(path)
        let births = "SELECT count(*) FROM syncd_meta WHERE key = 'births'"
        if try database.run(births) == [[0]] { try EarlierRecords.write(in: database) }
        try continueHere()
        try setUp()
    }

    /// Opens the file, which no replica has open.
    func continueHere() throws { replica = try Self.open(path, wall: wall, partition: partition) }

    /// Counts what the lanes have written as the general one does, and what they have refused.
    func tookLane(_ tally: MergeTally) {
        formerLane.eligible += tally.laneObjects
        formerLane.refusals.merge(tally.laneRefusals, uniquingKeysWith: +)
        formerLane.stated += tally.statedObjects
        formerLane.recordings += tally.statedObjects > 0 ? 1 : 0
        formerLane.statementRefusals.merge(tally.statementRefusals, uniquingKeysWith: +)
    }

    func close() throws { try replica.close() }

    /// What the rules of the fast lane decided here.
    var lane: LaneTally {
        var lane = formerLane
        lane.add(replica.tally.lane)
        return lane
    }

    /// Sets the simulation's time in the capture log.
    func willCommit() throws {
        let day = 2_440_587.5 + Double(wall.milliseconds) / 86_400_000
        try database.run(
            "UPDATE syncd_log SET ts = ? WHERE abs(ts - ?) > 0.5 AND ts > 2460000.0",
            with: [.real(day), .real(day)])
    }

    /// Runs a transaction of another program.
    func commit(_ write: () throws -> Void) throws {
        try database.run("BEGIN IMMEDIATE")
        try write()
        try willCommit()
        if try database.run("COMMIT") == nil { try database.run("ROLLBACK") }
        try remember()
    }

    /// Purges history without recording anything first, as the daemon and synctool do not.
    /// - Parameter bytes: what may stay; nil: as far as possible.
    /// - Returns: how many transactions went.
    func purge(toBytes bytes: Int64?) throws -> Int {
        try willCommit()
        let store = try Store.open(path)
        defer { try? store.close() }
        do {
            while try store.digest() {}
            let report =
                try bytes.map { try store.purge(beyond: HistoryLimits(bytes: $0)) }
                ?? store.purge()
            if report.transactions > 0 { hasPurged = true }
            return report.transactions
        } catch let error as SyncError where error.code == .busy {
            // Rows that were written without triggers are compared first.
            return 0
        }
    }

    /// Stores what the tables hold now.
    func remember() throws { tables = try read() }

    /// Merges a batch; false when it starts after what is here.
    func merge(_ batch: SimulatedBatch) throws -> Bool {
        var isMerged = false
        if StoreSimulation.comparesLanes {
            isMerged = try mergeByBoth(batch)
        } else {
            try killing { replica in
                isMerged = try replica.merge(batch.bytes, isAlone: false, goal: batch.goal)
            }
        }
        try remember()
        return isMerged
    }

    /// States what was committed here, where something is to be proved of it.
    func state() throws {
        if StoreSimulation.comparesLanes { return try stateByBoth() }
        try killing { _ = try $0.vector }
    }

    /// Collects what all replicas have.
    func collect(lease: Duration, slice: Int) throws -> CollectionReport {
        var report = CollectionReport()
        try killing { replica in
            report = try replica.collect(lease: lease, slice: slice)
            guard StoreSimulation.killsReplicas else { return }
            // One more may find more to drop: with and without a kill until there is nothing.
            var last = report
            while last != CollectionReport() {
                last = try replica.collect(lease: lease, slice: slice)
            }
        }
        return report
    }

    // MARK: Names

    /// The identity of each row of the simulation's schema.
    func names() throws -> [RowKey: ObjectUID] {
        var names: [RowKey: ObjectUID] = [:]
        let order = order
        for (key, name) in try replica.names() {
            let table = order[key.entity]
            let position = schema.merge.entities.firstIndex { $0.name == table }
            if let position { names[schema.merge.key(position, key.values)] = name }
        }
        return names
    }

    /// The identity of each row of a table, by its key.
    func names(of table: String) throws -> [[Value]: ObjectUID] {
        let position = order.firstIndex(of: table)
        let rows = try replica.names().filter { $0.key.entity == position }
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.key.values, $0.value) })
    }

    /// The tracked tables as the replica numbers them: by their names.
    private var order: [String] {
        (schema.merge.entities.map(\.name) + [addedTable].compactMap { $0 } + addedTables)
            .sorted { $0.lowercased() < $1.lowercased() }
    }

    // MARK: Checks

    /// The tables without what is private to this replica.
    func canonical() throws -> [ObjectUID: [Field]] {
        let names = try names()
        var rows: [ObjectUID: [Field]] = [:]
        for (key, row) in try read() {
            guard let name = names[key] else {
                throw SimulationFailure("the row \(key) of \(path) has no identity")
            }
            let entity = schema.merge.entities[key.entity]
            var fields = row.map(Field.value)
            if entity.hasPrivateNumbers { fields[entity.key[0]] = .value(.null) }
            for reference in entity.references {
                let target = named(reference, by: reference.columns.map { row[$0] })
                if target.contains(.null) { continue }
                if StoreSimulation.mayDangle,
                    reference.columns.contains(where: {
                        entity.holdsNumber($0, in: schema.merge.entities)
                    })
                {
                    // A number in place of a reference may be that of a row here alone.
                    for column in reference.columns { fields[column] = .value(.null) }
                    continue
                }
                guard let uid = names[schema.merge.key(reference.target, target)] else {
                    if StoreSimulation.mayDangle || reference.isExact { continue }
                    throw SimulationFailure("a reference of \(key) dangles")
                }
                for (part, column) in reference.columns.enumerated() {
                    fields[column] = .reference(uid, part: part)
                }
            }
            guard rows.updateValue(fields, forKey: name) == nil else {
                throw SimulationFailure("two rows are one object")
            }
        }
        return rows
    }

    /// The key that a reference names, whatever merging takes for it: SQLite compares text with a
    /// number by the number.
    private func named(_ reference: MergeEntity.Reference, by values: [Value]) -> [Value] {
        guard schema.merge.entities[reference.target].isPrivate, case .text(let text) = values[0],
            let number = Int64(text)
        else { return values }
        return [.integer(number)]
    }

    /// Checks that SQLite finds no problem.
    func checkConstraints() throws {
        guard
            try StoreSimulation.mayDangle
                || schema.danglingReferences(in: database).isEmpty
        else {
            throw SimulationFailure("a reference dangles after a merge")
        }
        guard try database.run("PRAGMA integrity_check") == [["ok"]] else {
            throw SimulationFailure("the file is damaged")
        }
    }

    /// Checks that every merged transaction is in history once; collected and purged ones may be
    /// missing.
    func checkHistory() throws {
        let own = "X'\(replica.replicaID)'"
        let merged = try database.run(
            """
            SELECT count(*) FROM syncd_header h JOIN syncd_replica r ON r.id = h.replica
            WHERE r.replica <> \(own)
            """)
        let recorded = try database.run(
            "SELECT count(origin), count(DISTINCT origin) FROM syncd_transaction")
        let hasCollected =
            try database.run(
                "SELECT count(*) FROM syncd_meta WHERE key = 'collected'") != [[0]]
        guard let merged, let recorded, case .integer(let count) = merged[0][0],
            case .integer(let origins) = recorded[0][0],
            recorded[0][0] == recorded[0][1],
            case let surplus = origins - (count - inherited),
            surplus == 0 || surplus > 0 && hasCollected || surplus < 0 && hasPurged
        else {
            throw SimulationFailure("history has \(recorded ?? []) of \(merged ?? []) transactions")
        }
    }

    /// The open conflicts, by object, columns and transaction: the columns of two replicas may have
    /// different places.
    func openConflicts() throws -> Set<String> {
        try Set(
            replica.openConflicts().map { id in
                let columns = try database.run(
                    """
                    SELECT columns FROM syncd_conflict
                    WHERE uid = ?1 AND cell = ?2 AND closed IS NULL
                    """, with: [.blob(id.object.bytes), .integer(Int64(id.cell))])
                let cell = "\(columns?.first?.first ?? .null)".lowercased()
                return "\(id.object) \(cell) \(id.dot)"
            })
    }

    /// How many open conflicts settling has to close: all, but while more of an exchange is to come
    /// not those of objects whose insert has not arrived yet (no life fact in their record).
    func closableConflicts() throws -> Int64 {
        let count = try database.run(
            """
            SELECT count(*) FROM syncd_conflict JOIN syncd_object USING(uid)
            WHERE closed IS NULL AND (substr(record, 1, 1) <> X'00' OR NOT EXISTS
              (SELECT 1 FROM syncd_meta m WHERE m.key = 'goal' AND length(m.value) > 0))
            """)
        guard case .integer(let count)? = count?[0][0] else { return 0 }
        return count
    }

    /// Every text that the conflict log has.
    func loggedTexts() throws -> Set<String> {
        var texts: Set<String> = []
        for conflict in try replica.conflicts(open: nil) {
            for pair in conflict.losing.values.pairs {
                if case .text(let text) = pair.value {
                    texts.formUnion(WrittenTexts.parts(ofLogged: text))
                }
            }
        }
        return texts
    }
}

/// An identifier of 32 hexadecimal digits.
private protocol Identified: CustomStringConvertible {}
extension StoreID: Identified {}
extension ReplicaID: Identified {}

extension SimulatedSchema {
    /// The policies that the schema of the simulation prescribes.
    var policies: MergePolicies {
        var policies = MergePolicies()
        for entity in merge.entities {
            policies.entities[entity.name] = .init(
                identity: entity.sharesNumbers ? .shared : nil,
                deletes: entity.deletePolicy == .editWins ? .editWins : .deleteWins,
                unique: entity.uniquePolicy, columns: entity.properties)
        }
        return policies
    }
}

extension MergeEntity {
    /// The policy of each column that has one of its own; a shared number's is no choice.
    fileprivate var properties: [String: CellPolicy] {
        var properties: [String: CellPolicy] = [:]
        for (cell, policy) in policies.enumerated()
        where policy != .lastWriter && cell != numberCell {
            properties[columns[cells[cell][0]].name] = policy
        }
        return properties
    }
}

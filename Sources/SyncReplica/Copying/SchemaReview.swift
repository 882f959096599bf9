import CSQLite
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Makes a received schema in an empty database in memory, object by object, and says which of it
/// may be made in a real one, in which order.
///
/// - Tables, indexes: one CREATE TABLE or CREATE INDEX (``ReceivedSchema``).
/// - Virtual tables: ``VirtualTableText``.
/// - Views: read the tables and views of the schema, with the functions of ``ReceivedNames``.
/// - Triggers: the same; they write untracked tables and virtual ones of the schema. One that
///   writes
///   a tracked table is not harmless: a later write of the user would carry its effects under this
///   replica's signature. It needs the user's consent, as does recursion.
struct SchemaReview {
    /// What may be made, in an order in which it can be.
    private(set) var accepted: [SchemaObject] = []
    /// What is not made, in the order of the schema.
    private(set) var refused: [RefusedObject] = []
    /// The triggers that write virtual tables alone: these can be made from the rows. Folded.
    private(set) var indexing: Set<String> = []
    /// The tables that may be made.
    private(set) var tables: [TableSchema] = []

    private var consents: Bool
    private var cost = ExpansionCost()
    private var costSum = 0
    private var names: [String: SchemaObject] = [:]
    private static let costSumMax = 40_000_000
    private static let pagesMax = 20_000

    /// The full-text indexes of this run that cannot be filled.
    private var unfilled: [RefusedObject] = []

    /// - Parameter consents: whether the user agreed to what needs consent.
    /// - Throws: SQLite errors.
    /// - Complexity: O(schema), and O(n · depth) in views that name each other; once more for each
    ///   run in which a full-text index is found that cannot be filled.
    init(_ content: SchemaContent, consents: Bool) throws {
        var unfilled: [RefusedObject] = []
        repeat {
            self = try SchemaReview(content, consents: consents, leavingOut: unfilled)
            unfilled += self.unfilled
        } while !self.unfilled.isEmpty
    }

    private init(
        _ content: SchemaContent, consents: Bool, leavingOut unfilled: [RefusedObject]
    ) throws {
        self.consents = consents
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.acceptsDoubleQuotedStringLiterals = true
        let queue = try DatabaseQueue(configuration: configuration)
        try queue.inDatabase { database in
            let connection = try database.openConnection
            try ConfinedStatement.confine(connection)
            try RawTransaction.execute("PRAGMA max_page_count = \(Self.pagesMax)", on: connection)
            syncd_sqlite_limit_steps(connection, 2_000_000_000)
            try review(content, leavingOut: unfilled, in: database, on: connection)
            try fill(in: database)
            tables = try SchemaReader(database).tables().filter { $0.kind == .table }
        }
        try queue.close()
    }

    private mutating func review(
        _ content: SchemaContent, leavingOut unfilled: [RefusedObject], in database: Database,
        on connection: OpaquePointer
    ) throws {
        let maker = ObjectMaker(connection)
        var reasons: [SchemaObject: (String, Bool)] = [:]
        for object in unfilled { reasons[object.object] = (object.reason, false) }
        let left = Set(reasons.keys)
        func objects(_ kinds: SchemaObject.Kind...) -> [SchemaObject] {
            content.objects.filter { kinds.contains($0.kind) && !left.contains($0) }
        }
        func attempt(_ object: SchemaObject, _ body: () throws -> Void) throws -> Bool {
            try RawTransaction.execute("SAVEPOINT attempt", on: connection)
            defer { try? RawTransaction.execute("RELEASE attempt", on: connection) }
            do {
                try body()
                reasons[object] = nil
                return true
            } catch let error as SyncError where Self.isOfText(error) {
                try RawTransaction.execute("ROLLBACK TO attempt", on: connection)
                reasons[object] = reasons[object] ?? (error.reason, false)
                return false
            } catch let consent as Consent {
                try RawTransaction.execute("ROLLBACK TO attempt", on: connection)
                reasons[object] = (consent.reason, true)
                return false
            }
        }
        for object in objects(.table) + objects(.virtualTable) + objects(.index) {
            if try attempt(object, { try maker.make(object) }) { accept(object) }
        }
        var waiting = objects(.view, .trigger)
        var isDone = false
        while !isDone {
            isDone = true
            for object in waiting {
                reasons[object] = nil
                let isMade = try attempt(object) {
                    let cost = try cost(of: object)
                    try maker.make(object)
                    try judge(object, in: database, on: connection)
                    if object.kind == .view { self.cost.add(object.name, cost: cost) }
                    costSum += cost
                }
                guard isMade else { continue }
                accept(object)
                waiting.removeAll { $0 == object }
                isDone = false
            }
        }
        refused = content.objects.compactMap { object in
            reasons[object].map {
                RefusedObject(object: object, reason: $0.0, needsConsent: $0.1)
            }
        }
    }

    /// Fills the full-text indexes over other tables: one whose table or view is not made, or lacks
    /// a column, is found without any row.
    private mutating func fill(in database: Database) throws {
        for object in accepted where object.kind == .virtualTable {
            guard (try? VirtualTableText(object))?.isRebuildable ?? false else { continue }
            var reason: String?
            do {
                reason = try ObjectSet.objection(toFilling: object, in: database)
            } catch {
                guard let known = SyncError(wrapping: error), Self.isOfText(known) else {
                    throw error
                }
                reason = known.reason
            }
            guard let reason else { continue }
            unfilled.append(
                RefusedObject(
                    object: object, reason: "it cannot be filled: \(reason)", needsConsent: false))
        }
    }

    private struct Consent: Error { let reason: String }

    /// Whether an error is about the text, not about this machine.
    private static func isOfText(_ error: SyncError) -> Bool {
        [.badData, .refused, .invalidArgument, .internalFault, .diskFull].contains(error.code)
    }

    private mutating func accept(_ object: SchemaObject) {
        accepted.append(object)
        if object.kind != .index, object.kind != .trigger {
            names[SQLName.folded(object.name)] = object
        }
    }

    private func cost(of object: SchemaObject) throws -> Int {
        guard let cost = cost.cost(of: object.sql), costSum + cost <= Self.costSumMax else {
            throw SyncError(.badData, "it is too large, or names views too often")
        }
        return cost
    }

    private mutating func judge(
        _ object: SchemaObject, in database: Database, on connection: OpaquePointer
    ) throws {
        var readable = Set(names.keys)
        if object.kind == .view { readable.insert(SQLName.folded(object.name)) }
        let use = ObjectUse(readable: readable, database: database, connection: connection)
        let effect = try use.effect(of: object)
        let tracked = effect.written.filter { names[$0]?.isTracked ?? false }.sorted()
        if let table = tracked.first, !consents {
            throw Consent(reason: "it writes the tracked table \(table.printable(countMax: 60))")
        }
        if effect.isRecursive, !consents { throw Consent(reason: "it is recursive") }
        let virtual = effect.written.allSatisfy { names[$0]?.kind == .virtualTable }
        if object.kind == .trigger, virtual, !effect.written.isEmpty {
            indexing.insert(SQLName.folded(object.name))
        }
    }
}

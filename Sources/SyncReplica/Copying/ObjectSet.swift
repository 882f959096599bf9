import CSQLite
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension SchemaContent {
    /// Whether the store has tables whose rows are not synchronised.
    var hasUntrackedTables: Bool { objects.contains { $0.kind == .table && !$0.isTracked } }
}

/// Objects that passed a ``SchemaReview``, to be made in a store in this order.
struct ObjectSet {
    private let objects: [SchemaObject]

    init(_ objects: [SchemaObject]) { self.objects = objects }

    /// Makes those that are not there. Each is used as the review did: what the store lacks is no
    /// longer there for it, and then it is not made.
    /// - Returns: what could not be made.
    /// - Throws: SQLite errors.
    func make(in database: Database) throws -> [RefusedObject] {
        let connection = try database.openConnection
        let limits = try ConfinedStatement.confine(connection)
        defer { ConfinedStatement.setLimits(limits, on: connection) }
        let maker = ObjectMaker(connection)
        var failed: [RefusedObject] = []
        for object in objects {
            if try Self.has(object, in: database) { continue }
            try RawTransaction.execute("SAVEPOINT object", on: connection)
            defer { try? RawTransaction.execute("RELEASE object", on: connection) }
            do {
                try maker.make(object)
                let use = ObjectUse(
                    readable: try Self.tables(in: database), database: database,
                    connection: connection)
                _ = try use.effect(of: object)
            } catch let error as SyncError where [.badData, .refused].contains(error.code) {
                try RawTransaction.execute("ROLLBACK TO object", on: connection)
                failed.append(
                    RefusedObject(object: object, reason: error.reason, needsConsent: false))
            }
        }
        return failed
    }

    /// The same, and fills the full-text indexes over other tables among them. One that cannot be
    /// filled is not made, and neither is what needs it: with rows missing, it would answer wrongly
    /// and be damaged by its own triggers.
    /// - Returns: what could not be made; of an index that was there before, that it is not filled.
    /// - Throws: SQLite errors of the file.
    /// - Complexity: O(rows of the tables that have a full-text index), once more for each run in
    ///   which an index is found that cannot be filled.
    func makeFilled(in database: Database) throws -> [RefusedObject] {
        let connection = try database.openConnection
        var unfilled: [RefusedObject] = []
        while true {
            let rest = objects.filter { object in !unfilled.contains { $0.object == object } }
            let indexes = rest.filter {
                $0.kind == .virtualTable && (try? VirtualTableText($0))?.isRebuildable ?? false
            }
            let former = try indexes.filter { try Self.has($0, in: database) }
            try RawTransaction.execute("SAVEPOINT filling", on: connection)
            let failed = try ObjectSet(rest).make(in: database)
            var found: [RefusedObject] = []
            for object in indexes where !failed.contains(where: { $0.object == object }) {
                guard let reason = try Self.objection(toFilling: object, in: database) else {
                    continue
                }
                let words = former.contains(object) ? "it is made, and cannot be filled" : nil
                found.append(
                    RefusedObject(
                        object: object, reason: "\(words ?? "it cannot be filled"): \(reason)",
                        needsConsent: false))
            }
            if !found.isEmpty { try RawTransaction.execute("ROLLBACK TO filling", on: connection) }
            try RawTransaction.execute("RELEASE filling", on: connection)
            if found.isEmpty { return unfilled + failed }
            unfilled += found
        }
    }

    /// The longest text or blob that an index is filled from. A view or a generated column may
    /// compute any number of bytes of a few words of a remote, and SQLite parses 50 MB a second,
    /// which nothing interrupts; no document that people search has as much.
    private static let indexedBytesMax: Int32 = 64 << 20

    /// Fills a full-text index from the rows of its table or view.
    /// - Returns: why it cannot be filled; nil: it is.
    /// - Throws: errors of the file or the machine.
    static func objection(
        toFilling object: SchemaObject, in database: Database
    ) throws -> String? {
        let name = SQLName.quoted(object.name)
        let connection = try database.openConnection
        let former = ConfinedStatement.setLimits(
            [(SQLITE_LIMIT_LENGTH, indexedBytesMax)], on: connection)
        defer { ConfinedStatement.setLimits(former, on: connection) }
        do {
            try database.execute(sql: "INSERT INTO \(name)(\(name)) VALUES ('rebuild')")
            return nil
        } catch let error as DatabaseError {
            let isOfIndex = error.extendedResultCode == .SQLITE_CORRUPT_VTAB
            guard let known = SyncError(wrapping: error), known.code == .refused || isOfIndex,
                error.resultCode != .SQLITE_NOMEM
            else { throw error }
            return reason(for: error, filling: object, in: database).printable(countMax: 200)
        }
    }

    /// FTS5 says no more than that there is an error: what keeps the rows from being read says it.
    private static func reason(
        for error: DatabaseError, filling object: SchemaObject, in database: Database
    ) -> String {
        guard let content = (try? VirtualTableText(object))?.content else {
            return error.message ?? "\(error.resultCode)"
        }
        do {
            _ = try Row.fetchOne(database, sql: "SELECT * FROM \(SQLName.quoted(content)) LIMIT 0")
            return "'\(content)' lacks a column of it, or its rows cannot be read: "
                + (error.message ?? "\(error.resultCode)")
        } catch let error as DatabaseError {
            return error.message ?? "\(error.resultCode)"
        } catch {
            return "\(error)"
        }
    }

    /// Whether the name is taken: tables and views share theirs.
    static func has(_ object: SchemaObject, in database: Database) throws -> Bool {
        let types =
            switch object.kind {
            case .table, .view, .virtualTable: "'table', 'view'"
            case .index: "'index'"
            case .trigger: "'trigger'"
            }
        return try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS(SELECT 1 FROM main.sqlite_schema
                  WHERE type IN (\(types)) AND name = ? COLLATE NOCASE)
                """, arguments: [object.name]) ?? false
    }

    private static func tables(in database: Database) throws -> Set<String> {
        Set(
            try String.fetchAll(
                database, sql: "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')"
            ).map(SQLName.folded)
        ).filter { !SQLName.isOwn($0) && !$0.hasPrefix("sqlite_") }
    }
}

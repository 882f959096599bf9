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

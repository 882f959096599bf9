import GRDB
import SyncStorage
import SyncValues

/// The objects of a database whose names begin with `syncd_`: those that syncd made, and those of
/// other programs.
///
/// An object is syncd's own when it has a known name *and* the expected shape: a table the columns
/// of ``StoreBlueprint``, an index or the marker its place on one of our tables, a capture trigger
/// its event and a body that writes to the log or to the guard.
struct StoreObjects {
    /// A row of `sqlite_schema`.
    struct Object: Hashable {
        let type: String
        let name: String
        let table: String
        let sql: String

        /// `table syncd_notes`
        var description: String { "\(type) \(name)" }
    }

    /// What syncd made, in an order in which it can be dropped.
    private(set) var own: [Object] = []
    /// The objects of other programs. Objects on an own table are not among them: they are dropped
    /// with the table.
    private(set) var foreign: [Object] = []
    private let names: Set<String>

    /// Reads the schema.
    /// - Complexity: O(triggers of the database)
    init(_ db: Database) throws {
        let objects = try Self.all(db)
        var tables: Set<String> = []
        for object in objects where try Self.isOwnTable(object, in: db) {
            tables.insert(SQLName.folded(object.name))
        }
        for object in objects {
            let isOnOwn = tables.contains(SQLName.folded(object.table))
            switch object.type {
            case "table", "view":
                if isOnOwn { own.append(object) } else { foreign.append(object) }
            case "index":
                if isOnOwn { own.append(object) } else { foreign.append(object) }
            default:
                if isOnOwn || PresentTrigger.isOwn(name: object.name, sql: object.sql) {
                    own.append(object)
                } else {
                    foreign.append(object)
                }
            }
        }
        names = Set(own.map { SQLName.folded($0.name) })
    }

    /// Objects of other programs under a name that syncd needs. A trigger with the number of a live
    /// entity is not among them: it is in the place of a capture trigger.
    func clashes(_ db: Database) throws -> [Object] {
        var live: Set<Int64> = []
        if has(EntityTable.name) {
            live = try EntityTable(db).liveNumbers()
        }
        return foreign.filter { object in
            if StoreBlueprint.items[SQLName.folded(object.name)] != nil { return true }
            guard object.type == "trigger", let number = PresentTrigger.number(in: object.name)
            else { return false }
            return !live.contains(number)
        }
    }

    /// - Throws: `cannotTrack` when objects of other programs have names that are needed.
    func requireNoClash(_ db: Database) throws {
        guard let clash = try clashes(db).first else { return }
        throw Self.clash(clash)
    }

    /// The error for an object of another program that has a name that is needed.
    static func clash(_ object: Object) -> SyncError {
        SyncError(
            .cannotTrack,
            "the database has \(object.type == "index" ? "an" : "a") \(object.description) that "
                + "syncd did not create; "
                + "names that begin with syncd_ are reserved",
            hint: object.type == "table"
                ? "Rename or drop it, and try again: ALTER TABLE \(SQLName.quoted(object.name)) "
                    + "RENAME TO …"
                : "Drop it, and try again: DROP \(object.type.uppercased()) "
                    + SQLName.quoted(object.name))
    }

    /// The capture triggers on user tables, by the number in their name.
    var captureTriggers: [(entity: Int64, object: Object)] {
        own.compactMap { object in
            guard object.type == "trigger", let number = PresentTrigger.number(in: object.name)
            else { return nil }
            return (number, object)
        }
    }

    /// Whether syncd made an object of this name.
    func has(_ name: String) -> Bool { names.contains(name) }

    /// Which of these are missing.
    func missing(_ names: [String]) -> [String] { names.filter { !has($0) } }

    /// Drops what syncd made, indexes and triggers with their table.
    func dropOwn(_ db: Database, where isWanted: (Object) -> Bool = { _ in true }) throws {
        for object in own where isWanted(object) {
            try db.execute(
                sql: "DROP \(object.type.uppercased()) IF EXISTS "
                    + "main.\(SQLName.quoted(object.name))")
        }
    }

    // MARK: Shapes

    private static func all(_ db: Database) throws -> [Object] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM main.sqlite_schema
                WHERE name LIKE 'syncd\\_%' ESCAPE '\\'
                ORDER BY CASE type WHEN 'trigger' THEN 0 WHEN 'view' THEN 1 WHEN 'index' THEN 2
                  ELSE 3 END, rowid DESC
                """
        ).map {
            Object(
                type: $0["type"], name: $0["name"], table: $0["tbl_name"],
                sql: $0["sql"] as String? ?? "")
        }
    }

    private static func isOwnTable(_ object: Object, in db: Database) throws -> Bool {
        guard let item = StoreBlueprint.items[SQLName.folded(object.name)],
            item.type == object.type
        else { return false }
        if item.type == "view" {
            return object.name == HistoryView.name
                ? HistoryView.isOwn(object.sql) : LogTable.isMarkerView(object.sql)
        }
        guard item.type == "table" else { return false }
        let columns = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main')", arguments: [object.name])
        guard item.name == "syncd_guard" else { return columns == item.columns }
        // The guard has as many columns for keys as the widest key.
        let values = item.columns.filter { !$0.hasPrefix("k") }
        let keys = columns.dropFirst(values.count)
        return Array(columns.prefix(values.count)) == values
            && keys.enumerated().allSatisfy { $1 == "k\($0)" }
    }
}

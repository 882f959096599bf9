import GRDB
import SyncCore
import SyncMerge
import SyncStorage

/// Reads the schema of a store as it is stated to other replicas: everything that belongs neither
/// to SQLite nor to this program.
struct PresentSchema {
    private let database: Database

    init(_ database: Database) { self.database = database }

    /// - Throws: SQLite errors.
    /// - Complexity: O(schema)
    func content() throws -> SchemaContent {
        let tracked = Set(try EntityTable(database).live().map { SQLName.folded($0.name) })
        let objects = try self.objects(tracked: tracked)
        return SchemaContent(
            objects, settings: try settings(),
            sequences: try sequences(of: objects.filter(\.isTracked).map(\.name)))
    }

    /// The objects of a database.
    /// - Parameter tracked: the folded names of the tracked tables.
    /// - Throws: SQLite errors.
    func objects(tracked: Set<String>) throws -> [SchemaObject] {
        let kinds = Dictionary(
            try Row.fetchAll(
                database, sql: "SELECT name, type FROM pragma_table_list WHERE schema = 'main'"
            ).map { (SQLName.folded($0["name"]), $0["type"] as String) },
            uniquingKeysWith: { first, _ in first })
        return try Row.fetchAll(
            database,
            sql: """
                SELECT type, name, tbl_name, sql FROM main.sqlite_schema
                WHERE sql IS NOT NULL AND name NOT LIKE 'syncd\\_%' ESCAPE '\\'
                  AND tbl_name NOT LIKE 'syncd\\_%' ESCAPE '\\'
                  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid
                """
        ).compactMap { row in
            let name: String = row["name"]
            let type = kinds[SQLName.folded(name)]
            let kind: SchemaObject.Kind
            switch row["type"] as String {
            case "index": kind = .index
            case "view": kind = .view
            case "trigger": kind = .trigger
            default:
                if type == "shadow" { return nil }
                kind = type == "virtual" ? .virtualTable : .table
            }
            return SchemaObject(
                kind, name: name, table: row["tbl_name"], sql: row["sql"],
                isTracked: kind == .table && tracked.contains(SQLName.folded(name)))
        }
    }

    private func settings() throws -> SchemaContent.Settings {
        func value(_ pragma: String) throws -> Int64 {
            try Int64.fetchOne(database, sql: "PRAGMA main.\(pragma)") ?? 0
        }
        var settings = SchemaContent.Settings()
        settings.userVersion = try value("user_version")
        settings.applicationID = try value("application_id")
        settings.pageSize = try value("page_size")
        settings.autoVacuum = try value("auto_vacuum")
        settings.encoding = try String.fetchOne(database, sql: "PRAGMA encoding") ?? "UTF-8"
        return settings
    }

    private func sequences(of tables: [String]) throws -> [String: Int64] {
        guard try database.tableExists("sqlite_sequence") else { return [:] }
        var sequences: [String: Int64] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT name, seq FROM main.sqlite_sequence") {
            guard let name = String.fromDatabaseValue(row["name"]), tables.contains(name) else {
                continue
            }
            sequences[name] = Int64.fromDatabaseValue(row["seq"])
        }
        return sequences
    }
}

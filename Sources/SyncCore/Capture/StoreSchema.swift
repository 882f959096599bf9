import GRDB
import SyncStorage

/// The objects that capture adds to a database, triggers on the user's tables aside.
/// `docs/store-format.md` §1 explains each.
enum StoreSchema {
    /// The key columns that the guard has room for at first. For a wider key the table is made
    /// again.
    private static let guardKeyColumnsMin = 4

    static func guardTable(keyColumns: Int) -> String {
        let keys = (0..<max(keyColumns, guardKeyColumnsMin)).map { "k\($0)" }
        return "CREATE TABLE syncd_guard(e INTEGER, i INTEGER, ts REAL, "
            + "pk, v0, v1, v2, v3, v4, v5, \(keys.joined(separator: ", ")))"
    }

    /// Makes what is missing, and a guard that holds keys of `keyColumns` columns. Inside a
    /// transaction.
    static func create(_ db: Database, keyColumns: Int) throws {
        for sql in [
            LogTable.creation, EntityTable.creation, Metadata.creation, LogTable.markerView,
            LogTable.markerTrigger,
        ] { try db.execute(sql: sql) }
        try makeGuard(db, keyColumns: keyColumns)
    }

    private static func makeGuard(_ db: Database, keyColumns: Int) throws {
        let present =
            try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM pragma_table_info('syncd_guard') WHERE name GLOB 'k*'")
            ?? 0
        if present > 0, present >= keyColumns { return }
        try db.execute(sql: "DROP TABLE IF EXISTS syncd_guard")
        try db.execute(sql: guardTable(keyColumns: keyColumns))
    }
}

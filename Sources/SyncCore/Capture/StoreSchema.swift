import GRDB
import SyncStorage
import SyncValues

/// The objects of our own that capture adds to a database, triggers on the user's tables aside.
/// `docs/store-format.md` §1 explains each.
enum StoreSchema {
    /// The version of the format that this code writes and the newest that it reads.
    static let format: Int64 = 1
    /// The key columns that the guard has room for at first. A wider key makes it anew.
    private static let guardKeyColumnsMin = 4

    static let log = """
        CREATE TABLE IF NOT EXISTS syncd_log(
          seq INTEGER PRIMARY KEY, op INTEGER, m INTEGER, ts REAL, pk, v0, v1, v2, v3, v4, v5)
        """
    static let entity = """
        CREATE TABLE IF NOT EXISTS syncd_entity(
          id INTEGER PRIMARY KEY, name TEXT, layout TEXT, retired INTEGER)
        """
    static let meta = """
        CREATE TABLE IF NOT EXISTS syncd_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID
        """
    static let transactionView = """
        CREATE VIEW IF NOT EXISTS syncd_txn AS
          SELECT v0 AS author, v1 AS context, pk AS pid, v2 AS process FROM syncd_log WHERE op = 0
        """
    static let marker = """
        CREATE TRIGGER IF NOT EXISTS syncd_txn_mark INSTEAD OF INSERT ON syncd_txn BEGIN
          INSERT INTO syncd_log(op, m, ts, pk, v0, v1, v2)
          VALUES(0, CASE WHEN NEW.author IS NULL THEN 1 END, julianday('now'),
            NEW.pid, NEW.author, NEW.context, NEW.process);
        END
        """

    static func guardTable(keyColumns: Int) -> String {
        let keys = (0..<max(keyColumns, guardKeyColumnsMin)).map { "k\($0)" }
        return "CREATE TABLE syncd_guard(e INTEGER, i INTEGER, ts REAL, "
            + "pk, v0, v1, v2, v3, v4, v5, \(keys.joined(separator: ", ")))"
    }

    /// Makes what is missing, and a guard that holds keys of `keyColumns` columns. Inside a
    /// transaction.
    static func create(_ db: Database, keyColumns: Int) throws {
        for sql in [log, entity, meta, transactionView, marker] { try db.execute(sql: sql) }
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

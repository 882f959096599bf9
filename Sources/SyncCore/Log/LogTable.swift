import SyncStorage

/// The SQL of `syncd_log`, and of the view and the trigger that write markers to it
/// (docs/store-format.md §1). Statements are prepared where they run.
package enum LogTable {
    package static let name = "syncd_log"

    /// In order.
    static let columns = ["seq", "op", "m", "ts", "pk", "v0", "v1", "v2", "v3", "v4", "v5"]

    static let creation = """
        CREATE TABLE IF NOT EXISTS syncd_log(
          seq INTEGER PRIMARY KEY, op INTEGER, m INTEGER, ts REAL, pk, v0, v1, v2, v3, v4, v5)
        """

    /// The view `syncd_txn`, into which writers insert markers.
    static let markerView = """
        CREATE VIEW IF NOT EXISTS syncd_txn AS
          SELECT v0 AS author, v1 AS context, pk AS pid, v2 AS process FROM syncd_log WHERE op = 0
        """

    static let markerTrigger = """
        CREATE TRIGGER IF NOT EXISTS syncd_txn_mark INSTEAD OF INSERT ON syncd_txn BEGIN
          INSERT INTO syncd_log(op, m, ts, pk, v0, v1, v2)
          VALUES(0, CASE WHEN NEW.author IS NULL THEN 1 END, julianday('now'),
            NEW.pid, NEW.author, NEW.context, NEW.process);
        END
        """

    /// Whether the text of a view is that of ``markerView``. SQLite changes the name of a renamed
    /// log in it.
    static func isMarkerView(_ sql: String) -> Bool {
        sql.contains(name) || sql.contains("v0 AS author, v1 AS context")
    }

    /// The number of the newest row; NULL for an empty log.
    package static let newestSQL = "SELECT max(seq) FROM syncd_log"

    /// The rows after ?1 up to ?2.
    static let rowsSQL = """
        SELECT seq, op, m, ts, pk, v0, v1, v2, v3, v4, v5
        FROM syncd_log WHERE seq > ?1 AND seq <= ?2 ORDER BY seq
        """

    /// Appends a row: ?1 `op`, ?2 `m`, ?3 to ?9 the values, ?10 the time or NULL for now.
    static let appendSQL = """
        INSERT INTO syncd_log(op, m, ts, pk, v0, v1, v2, v3, v4, v5)
        VALUES (?1, ?2, CASE WHEN ?1 & 7 <> 7 THEN coalesce(?10, julianday('now')) END,
          ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        """

    /// Keeps the number ?1: the end of a marker without a beginning, which readers ignore. The
    /// newest row of a log always stays, so that no number is given twice.
    package static let keepNumberSQL = "INSERT INTO syncd_log(seq, op, m) VALUES (?1, 0, 1)"

    /// A row when the log has rows up to ?1 that can be deleted.
    static let trimmableSQL = """
        SELECT 1 FROM syncd_log WHERE seq <= min(?1, (SELECT max(seq) FROM syncd_log) - 1)
        LIMIT 1
        """

    /// Deletes rows up to ?1, at most about ?2 of them, never the newest.
    static let trimSQL = """
        DELETE FROM syncd_log WHERE seq <= min(?1, (SELECT max(seq) FROM syncd_log) - 1,
          (SELECT min(seq) FROM syncd_log) + ?2)
        """

    /// Removes the values of the rows that history has as well.
    static let clearDigestedSQL = """
        UPDATE syncd_log SET pk = NULL, v0 = NULL, v1 = NULL, v2 = NULL, v3 = NULL, v4 = NULL,
          v5 = NULL
        WHERE seq <= (SELECT value FROM syncd_meta WHERE key = 'digested')
        """

    static let deleteAllSQL = "DELETE FROM syncd_log"

    /// The time of the row ?1 or, where it has none, of the row before it; no row when it is
    /// missing.
    static let timeSQL = """
        SELECT (SELECT ts FROM syncd_log WHERE seq <= ?1 AND ts IS NOT NULL
                ORDER BY seq DESC LIMIT 1)
        FROM syncd_log WHERE seq = ?1
        """

    /// What of the row ?1 distinguishes it from a row of another history with its number.
    static let anchorSQL = "SELECT op, m, ts FROM syncd_log WHERE seq = ?1"

    /// `digested`, NULL where it is no number; the newest seq; how many rows follow `digested`; the
    /// anchor; the row `digested` as in ``anchorSQL``, NULL when it is not there.
    static let continuitySQL = """
        WITH m(value) AS (SELECT (SELECT value FROM syncd_meta WHERE key = 'digested')),
          d(seq) AS (
            SELECT CASE typeof(value) WHEN 'integer' THEN value WHEN 'null' THEN 0 END FROM m)
        SELECT d.seq, (SELECT max(seq) FROM syncd_log),
          (SELECT count(*) FROM syncd_log WHERE seq > d.seq),
          (SELECT value FROM syncd_meta WHERE key = 'anchor'),
          l.op, l.m, l.ts
        FROM d LEFT JOIN syncd_log l ON l.seq = d.seq
        """

    /// The number of rows after ?1 up to ?2.
    static let countBetweenSQL = "SELECT count(*) FROM syncd_log WHERE seq > ?1 AND seq <= ?2"

    /// The number of rows after a seq.
    static func countSQL(after seq: Int64) -> String {
        "SELECT count(*) FROM syncd_log WHERE seq > \(seq)"
    }

    /// The number of the newest row; 0 for an empty log.
    /// - Throws: the error of SQLite.
    package static func newest(on connection: OpaquePointer) throws -> Int64 {
        let newest = try Statement(newestSQL, on: connection)
        return try newest.step() ? newest.integer(0) : 0
    }
}

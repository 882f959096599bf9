/// The SQL of `syncd_change` (docs/store-format.md §2). Statements are prepared where they run.
package enum ChangeTable {
    static let name = "syncd_change"

    static let creation = [
        """
        CREATE TABLE IF NOT EXISTS syncd_change(
          seq INTEGER PRIMARY KEY, op INTEGER, key, data BLOB)
        """,
        "CREATE INDEX IF NOT EXISTS syncd_change_object ON syncd_change(key, op)",
    ]

    /// - Parameter rows: those of a `RowStatement`: seq, op, key, data.
    static func insertSQL(from rows: String) -> String {
        "INSERT OR REPLACE INTO syncd_change(seq, op, key, data) SELECT c1, c2, c3, c4 FROM \(rows)"
    }

    /// The changes from ?1 on, after ?2, up to ?3.
    static let changesSQL = """
        SELECT seq, op, key, data FROM syncd_change
        WHERE seq >= ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq
        """

    /// The objects that changed after ?1 up to ?2, at most ?3 changes.
    static let objectsSQL = """
        SELECT seq, op, key FROM syncd_change
        WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3
        """

    /// The kinds, keys and seqs of the changes after ?1 up to ?2.
    static let kindsSQL = """
        SELECT op, key, seq FROM syncd_change WHERE seq > ?1 AND seq <= ?2 ORDER BY seq
        """

    /// The newest change with the key ?1 and the `op` ?2 up to ?3.
    static let newestOfObjectSQL =
        "SELECT max(seq) FROM syncd_change WHERE key = ?1 AND op = ?2 AND seq <= ?3"

    /// The change ?1.
    static let changeSQL = "SELECT seq, op, key, data FROM syncd_change WHERE seq = ?1"

    /// The changes of the object with the key ?1, of the entity with the `op` ?2, each with the
    /// number of its transaction.
    static let numbersOfObjectSQL = """
        SELECT c.seq, (SELECT number FROM syncd_transaction t WHERE t.number >= c.seq
                       ORDER BY number LIMIT 1)
        FROM syncd_change c WHERE c.key = ?1 AND c.op > ?2 AND c.op < ?2 + 8
        """

    /// The average size of the newest changes in bytes: a row, its entry in the index by object,
    /// and what SQLite adds to both.
    static let averageBytesSQL = """
        SELECT avg(24 + 2 * coalesce(length(CAST(key AS BLOB)), 0)
          + coalesce(length(data), 0))
        FROM (SELECT key, data FROM syncd_change ORDER BY seq DESC LIMIT 1000)
        """

    /// The changes of the object with the key ?1, of the entity with the `op` ?2.
    static let ofObjectSQL = """
        SELECT seq, op, key, data FROM syncd_change WHERE key = ?1 AND op > ?2 AND op < ?2 + 8
        """

    /// Gives the change ?1 other data.
    static let setDataSQL = "UPDATE syncd_change SET data = ?2 WHERE seq = ?1"

    static let newestSQL = "SELECT max(seq) FROM syncd_change"

    /// Deletes the oldest changes up to ?1.
    static func deleteSliceSQL(max: Int64) -> String {
        """
        DELETE FROM syncd_change
        WHERE seq <= min(?1, (SELECT min(seq) FROM syncd_change) + \(max))
        """
    }

    /// Deletes the changes after ?1.
    package static let deleteAfterSQL = "DELETE FROM syncd_change WHERE seq > ?1"
}

/// The SQL of `syncd_transaction` and `syncd_who` (docs/store-format.md §2). Statements are
/// prepared where they run.
package enum TransactionTable {
    static let name = "syncd_transaction"
    static let authors = "syncd_who"

    static let creation = [
        """
        CREATE TABLE IF NOT EXISTS syncd_transaction(
          number INTEGER PRIMARY KEY, first INTEGER, time INTEGER, who INTEGER, pid INTEGER,
          flags INTEGER, origin BLOB)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_who(
          id INTEGER PRIMARY KEY, author TEXT, context TEXT, process TEXT)
        """,
        // Transactions without an author are not in it.
        """
        CREATE INDEX IF NOT EXISTS syncd_transaction_who ON syncd_transaction(who)
          WHERE who IS NOT NULL
        """,
        "CREATE INDEX IF NOT EXISTS syncd_who_name ON syncd_who(author, context, process)",
    ]

    // MARK: Reading

    /// Headers with their authors, without a condition.
    static let headers = """
        SELECT t.number, t.first, t.time, t.pid, t.flags, t.origin, w.author, w.context, w.process
        FROM syncd_transaction t LEFT JOIN syncd_who w ON w.id = t.who
        """

    /// The number of the transaction that has the row ?1.
    static let numberSQL =
        "SELECT number FROM syncd_transaction WHERE number >= ?1 ORDER BY number LIMIT 1"

    /// `number`, `first` and `time` of the first transaction from number ?1 on.
    static let headerSQL = """
        SELECT number, first, time FROM syncd_transaction WHERE number >= ?1
        ORDER BY number LIMIT 1
        """

    /// The ids of the author ?1 in each context and process.
    static let authorIDsSQL = "SELECT id FROM syncd_who WHERE author = ?1"

    /// The numbers after ?1 up to ?2 with the author id ?3.
    static func numbersSQL(reverse: Bool) -> String {
        """
        SELECT number FROM syncd_transaction WHERE who = ?3 AND number > ?1
        AND number <= ?2 ORDER BY number \(reverse ? "DESC" : "ASC")
        """
    }

    /// The least and the greatest number.
    static let endsSQL = """
        SELECT (SELECT min(number) FROM syncd_transaction),
          (SELECT max(number) FROM syncd_transaction)
        """

    static let newestSQL = "SELECT max(number) FROM syncd_transaction"
    static let countSQL = "SELECT count(*) FROM syncd_transaction"

    // MARK: Writing

    /// - Parameter rows: those of a `RowStatement`: the columns in their order.
    static func insertSQL(from rows: String) -> String {
        """
        INSERT OR REPLACE INTO syncd_transaction(number, first, time, who, pid, flags, origin)
        SELECT c1, c2, c3, c4, c5, c6, c7 FROM \(rows)
        """
    }

    static let findAuthorSQL =
        "SELECT id FROM syncd_who WHERE author IS ?1 AND context IS ?2 AND process IS ?3"
    static let insertAuthorSQL =
        "INSERT INTO syncd_who(author, context, process) VALUES (?1, ?2, ?3) RETURNING id"

    /// Removes the author of every transaction.
    static let clearAuthorsSQL = "UPDATE syncd_transaction SET who = NULL WHERE who IS NOT NULL"

    // MARK: Purging

    /// The first row of the transaction that has the row ?1, or else of the newest transaction.
    static let firstKeptSQL = """
        SELECT coalesce((SELECT first FROM syncd_transaction WHERE number >= ?1
          ORDER BY number LIMIT 1),
          (SELECT first FROM syncd_transaction ORDER BY number DESC LIMIT 1))
        """

    static let newestBeforeSQL = "SELECT max(number) FROM syncd_transaction WHERE number < ?1"

    private static func slice(max: Int) -> String {
        "number <= min(?1, (SELECT min(number) FROM syncd_transaction) + \(max))"
    }

    /// The author ids of the oldest transactions up to ?1.
    static func authorIDsOfSliceSQL(max: Int) -> String {
        """
        SELECT DISTINCT who FROM syncd_transaction NOT INDEXED
        WHERE \(slice(max: max)) AND who IS NOT NULL
        """
    }

    /// Deletes the oldest transactions up to ?1.
    static func deleteSliceSQL(max: Int) -> String {
        "DELETE FROM syncd_transaction WHERE \(slice(max: max))"
    }

    /// Deletes the author ?1 when it has no transaction.
    static let deleteUnusedAuthorSQL = """
        DELETE FROM syncd_who WHERE id = ?1
        AND NOT EXISTS (SELECT 1 FROM syncd_transaction WHERE who = ?1)
        """
}

/// The tables that the digest writes: docs/store-format.md §2.
enum HistorySchema {
    /// Creates what is missing, in the transaction that the connection is in.
    static func create(_ connection: OpaquePointer) throws {
        for sql in statements { try RawTransaction.execute(connection, sql) }
    }

    private static let statements = [
        """
        CREATE TABLE IF NOT EXISTS syncd_transaction(
          number INTEGER PRIMARY KEY, first INTEGER, time INTEGER, who INTEGER, pid INTEGER,
          flags INTEGER, origin BLOB)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_who(
          id INTEGER PRIMARY KEY, author TEXT, context TEXT, process TEXT)
        """,
        // What nobody signed costs nothing in it.
        """
        CREATE INDEX IF NOT EXISTS syncd_transaction_who ON syncd_transaction(who)
          WHERE who IS NOT NULL
        """,
        "CREATE INDEX IF NOT EXISTS syncd_who_name ON syncd_who(author, context, process)",
        """
        CREATE TABLE IF NOT EXISTS syncd_change(
          seq INTEGER PRIMARY KEY, op INTEGER, key, data BLOB)
        """,
        "CREATE INDEX IF NOT EXISTS syncd_change_object ON syncd_change(key, op)",
        """
        CREATE TABLE IF NOT EXISTS syncd_consumer(
          name TEXT PRIMARY KEY, kind TEXT, acknowledged INTEGER, lease INTEGER, seen INTEGER,
          created INTEGER) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_fingerprint(
          lineage INTEGER, key, entity INTEGER, print INTEGER,
          PRIMARY KEY(lineage, key)) WITHOUT ROWID
        """,
        "CREATE TABLE IF NOT EXISTS syncd_lineage(lineage INTEGER PRIMARY KEY)",
    ]
}

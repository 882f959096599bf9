/// The tables that merging keeps beside those of history: docs/merge-design.md, *In SQLite*.
enum ReplicationTables {
    /// Creates what is missing, in the transaction that the connection is in.
    static func create(_ connection: OpaquePointer) throws {
        for sql in statements { try RawTransaction.execute(connection, sql) }
    }

    /// Whether the store has ever been merged or sent.
    static func exist(_ connection: OpaquePointer) throws -> Bool {
        try Statement(
            connection, "SELECT 1 FROM sqlite_schema WHERE name = 'syncd_object' AND type = 'table'"
        ).step()
    }

    private static let statements = [
        """
        CREATE TABLE IF NOT EXISTS syncd_replica(
          id INTEGER PRIMARY KEY, replica BLOB UNIQUE, merged INTEGER)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_run(id INTEGER PRIMARY KEY, seen BLOB UNIQUE)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_header(
          place INTEGER PRIMARY KEY, replica INTEGER, number INTEGER, previous INTEGER,
          time INTEGER, run INTEGER, details BLOB, UNIQUE(replica, number))
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_shape(
          id INTEGER PRIMARY KEY, name TEXT UNIQUE, private INTEGER, cells TEXT)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_object(
          id INTEGER PRIMARY KEY, uid BLOB UNIQUE, shape INTEGER, key, number INTEGER,
          state INTEGER, place INTEGER, record BLOB)
        """,
        """
        CREATE INDEX IF NOT EXISTS syncd_object_key ON syncd_object(key, shape)
          WHERE key IS NOT NULL
        """,
        """
        CREATE INDEX IF NOT EXISTS syncd_object_number ON syncd_object(number, shape)
          WHERE number IS NOT NULL AND key IS NULL
        """,
        "CREATE INDEX IF NOT EXISTS syncd_object_place ON syncd_object(place)",
        """
        CREATE INDEX IF NOT EXISTS syncd_object_state ON syncd_object(state) WHERE state <> 0
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_alias(
          first BLOB, second BLOB, replica INTEGER, number INTEGER, PRIMARY KEY(first, second))
          WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS syncd_alias_second ON syncd_alias(second)",
        """
        CREATE TABLE IF NOT EXISTS syncd_conflict(
          id INTEGER PRIMARY KEY, uid BLOB, cell INTEGER, replica INTEGER, number INTEGER,
          entity TEXT, columns TEXT, reason TEXT, value BLOB, key BLOB, met_replica INTEGER,
          met_number INTEGER, opened INTEGER, closed INTEGER, UNIQUE(uid, cell, replica, number))
        """,
        """
        CREATE INDEX IF NOT EXISTS syncd_conflict_open ON syncd_conflict(uid)
          WHERE closed IS NULL
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_peer(
          replica INTEGER PRIMARY KEY, merged BLOB, behind INTEGER)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_mark(uid BLOB PRIMARY KEY, round INTEGER) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS syncd_mark_round ON syncd_mark(round)",
        "CREATE TABLE IF NOT EXISTS syncd_round(id INTEGER PRIMARY KEY, merged BLOB)",
        """
        CREATE TABLE IF NOT EXISTS syncd_unknown(
          id INTEGER PRIMARY KEY, replica INTEGER, number INTEGER, entity TEXT, private INTEGER,
          columns TEXT, fact BLOB)
        """,
    ]
}

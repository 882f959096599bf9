import SyncStorage

/// The statements of every object that syncd adds to a database, triggers on the user's tables
/// aside: what the file holds (docs/store-format.md), and how each object is distinguished from a
/// user object with the same name.
package enum StoreBlueprint {
    /// What a part of the tables is for.
    package enum Part: CaseIterable {
        case capture, history, replication, extents, names, sums, schema, remotes
    }

    /// One object as its statement makes it.
    package struct Item: Hashable {
        package let part: Part
        /// `table`, `view`, `index` or `trigger`, as in `sqlite_schema`.
        package let type: String
        package let name: String
        /// The table or view that it is on; of tables and views the name.
        package let table: String
        /// The columns of a table, in order.
        package let columns: [String]
    }

    /// The tables of the digest, with their indexes.
    package static let history =
        TransactionTable.creation + ChangeTable.creation + [ConsumerTable.creation]
        + FingerprintTable.creation + [HistoryView.creation]

    /// The tables of merging, with their indexes.
    package static let replication = [
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

    /// Which objects were written after a place in the merge order: computed again where it is
    /// absent, as in stores of earlier versions, which have an index of `syncd_object` instead.
    package static let extents = [
        "CREATE TABLE IF NOT EXISTS syncd_extent(id INTEGER PRIMARY KEY, place INTEGER)",
        "CREATE INDEX IF NOT EXISTS syncd_extent_place ON syncd_extent(place)",
    ]

    /// What facts call the tables and columns; absent from stores of earlier versions, and not
    /// needed where nothing was renamed or dropped.
    package static let names = [
        """
        CREATE TABLE IF NOT EXISTS syncd_name(
          entity TEXT, part TEXT, name TEXT, number INTEGER, PRIMARY KEY(entity, part))
          WITHOUT ROWID
        """
    ]

    /// The sums of what merging keeps. All of it can be computed again: a store without these
    /// tables is whole.
    package static let sums = [
        """
        CREATE TABLE IF NOT EXISTS syncd_total(
          shape INTEGER PRIMARY KEY, structure INTEGER, facts BLOB, shown BLOB)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_sum(id INTEGER PRIMARY KEY, at BLOB UNIQUE, sums BLOB)
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_met(
          replica INTEGER PRIMARY KEY, at BLOB, time INTEGER, count INTEGER, entities TEXT)
        """,
    ]

    /// What replicas state of their schemas. A store without the table is whole.
    package static let schema = """
        CREATE TABLE IF NOT EXISTS syncd_schema(
          replica INTEGER PRIMARY KEY, number INTEGER, revision INTEGER, time INTEGER, hash BLOB,
          content BLOB)
        """

    package static let remote = """
        CREATE TABLE IF NOT EXISTS syncd_remote(
          name TEXT PRIMARY KEY, url TEXT, options TEXT) WITHOUT ROWID
        """
    package static let key = """
        CREATE TABLE IF NOT EXISTS syncd_key(
          id BLOB PRIMARY KEY, secret BLOB, created INTEGER, active INTEGER) WITHOUT ROWID
        """
    package static let epoch = """
        CREATE TABLE IF NOT EXISTS syncd_epoch(id BLOB PRIMARY KEY, cut BLOB) WITHOUT ROWID
        """
    package static let join = """
        CREATE TABLE syncd_join(entity TEXT, number INTEGER, uid BLOB, PRIMARY KEY(entity, number))
        WITHOUT ROWID
        """

    /// The tables of signatures; made with those of merging, and absent from older stores.
    package static let signing = [
        """
        CREATE TABLE IF NOT EXISTS syncd_signer(
          replica BLOB PRIMARY KEY, key BLOB, first INTEGER, base INTEGER, base_hash BLOB,
          number INTEGER, hash BLOB, pending BLOB, secret BLOB, removed INTEGER) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_anchor(
          replica BLOB, number INTEGER, hash BLOB, signature BLOB, PRIMARY KEY(replica, number))
          WITHOUT ROWID
        """,
    ]

    /// The tables of what members decided and what one snapshot alone says; made with those of
    /// merging, and absent from older stores.
    package static let members = [
        """
        CREATE TABLE IF NOT EXISTS syncd_member(
          subject BLOB PRIMARY KEY, decision BLOB) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_doubt(
          uid BLOB, replica INTEGER, number INTEGER, confirmed BLOB,
          PRIMARY KEY(uid, replica, number)) WITHOUT ROWID
        """,
        """
        CREATE TABLE IF NOT EXISTS syncd_reach(
          url TEXT PRIMARY KEY, vector BLOB, lost BLOB) WITHOUT ROWID
        """,
    ]

    /// The names that replicas gave themselves; made with the tables of merging, and absent from
    /// older stores.
    package static let replicaNames = """
        CREATE TABLE IF NOT EXISTS syncd_replica_name(
          replica BLOB PRIMARY KEY, revision INTEGER, name TEXT, signature BLOB) WITHOUT ROWID
        """

    /// What conflicts were about, and how they were closed; made with the tables of merging, and
    /// absent from older stores.
    package static let sides = """
        CREATE TABLE IF NOT EXISTS syncd_side(
          conflict INTEGER PRIMARY KEY, met BLOB, replica INTEGER, number INTEGER, closed BLOB)
        """

    private static func statements(_ part: Part) -> [String] {
        switch part {
        case .capture:
            [
                LogTable.creation, EntityTable.creation, Metadata.creation,
                StoreSchema.guardTable(keyColumns: 1), LogTable.markerView,
                LogTable.markerTrigger,
            ]
        case .history: history
        case .replication: replication
        case .extents: extents
        case .names: names
        case .sums: sums
        case .schema: [schema]
        case .remotes: [remote, key, epoch, join, replicaNames, sides] + signing + members
        }
    }

    /// Every object, by name.
    package static let items: [String: Item] = {
        var items: [String: Item] = [:]
        for part in Part.allCases {
            for sql in statements(part) {
                let item = item(madeBy: sql, of: part)
                items[item.name] = item
            }
        }
        return items
    }()

    /// The tables of a part, in the order in which they are made.
    package static func tables(_ part: Part) -> [String] {
        statements(part).map { item(madeBy: $0, of: part) }.filter { $0.type == "table" }.map(
            \.name)
    }

    private static func item(madeBy sql: String, of part: Part) -> Item {
        let sql = SQLTokens(sql)
        let words = sql.tokens.map(\.text)
        let type = words[1].lowercased()
        let name = words[2] == "IF" ? 5 : 2
        let on = words.firstIndex(of: "ON")
        var columns: [String] = []
        if type == "table", let close = sql.close(of: name + 1) {
            columns = sql.items(between: name + 1, and: close).map { words[$0.lowerBound] }
                .filter { $0 != "PRIMARY" && $0 != "UNIQUE" }
        }
        return Item(
            part: part, type: type, name: words[name],
            table: type == "table" || type == "view" ? words[name] : on.map { words[$0 + 1] } ?? "",
            columns: columns)
    }
}

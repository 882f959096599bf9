import GRDB
import SyncValues

/// The rows of `syncd_meta`: what a store is and how far its history goes (docs/store-format.md
/// §1.6). The only type that reads or writes the table.
///
/// Every call runs within the transaction that the connection is in. Confined to the connection's
/// queue. Statements are prepared at the first use, so that a database without the table can be
/// asked ``exists()``.
package final class Metadata {
    /// The keys of the table.
    package enum Key: String {
        /// The version of the file format, the identifiers of store and replica, the epoch, the
        /// file that the replica lives in, when the store was made (ms since 1970).
        case format, store, replica, epoch, file, created
        /// The schema version at the last complete check of the triggers, and the version of the
        /// triggers then; an earlier version of syncd did not store the latter.
        case schema, triggers
        /// Positions: how far the history tables, the purge and the fingerprints go.
        case digested, purged, fingerprinted
        /// The row `digested` of the log: number, kind, mask and time. Text.
        case anchor
        /// When all rows were last compared with their fingerprints, ms since 1970.
        case compared
        /// When the clock of the machine was last looked at, and how it has jumped. Text.
        case observed
        /// How far the fingerprints go that a comparison took after `fingerprinted`. JSON.
        case current
        /// The greatest entity number ever given.
        case entities
        /// The journals of daemons that have the store: absolute paths, one a line.
        case journals
        /// A random number of the digest that is writing a transaction in several slices.
        case digesting
        /// Which new tables are recorded: ``Metadata/NewTables``; what is kept of them, JSON.
        case tables, options
        /// Merging: the last transaction that was translated to facts; the newest reading of the
        /// hybrid clock; the policies that the owner chose; the replicas that the file was copied
        /// from, each with its last log row; the newest own transaction that was sent.
        case stated, clock, policies, former, sent
        /// Merging: inserts in later rows of the log have ascending identities; none: all are
        /// hashed.
        case births
        /// Merging: bits of what the tables of merging hold: ``Metadata/Writing``.
        case writes
        /// Merging: 1 where the batches of this replica are signed.
        case signing
        /// Merging, of a database that joined a store: the time that the rows from before have, ms
        /// since 1970. Earlier than everything in the store.
        case joined
        /// Garbage collection: the version vector that every replica has merged and up to which
        /// unneeded facts were dropped; the vector up to which others had collected before this
        /// replica knew of it; the time of the last collection, ms since 1970.
        case collected, behind, collectedAt
        /// Merging: the cut of the snapshots that left out what is still shown here
        /// (`syncd_doubt`), until other members confirm them.
        case doubted
        /// Merging: the vector up to which this replica knows from snapshots alone what was
        /// collected elsewhere.
        case returned
        /// Merging: the cut of the last snapshot that this replica needed because it had written
        /// something without having seen the cut: each batch states the cut again.
        case answered
        /// When a daemon made a new store of one whose tables another program had dropped, ms
        /// since 1970; until a remote is added, or somebody has seen it.
        case remade
        /// Merging: what of a remote could not be read in the last exchange, by address. JSON.
        case unread
        /// Merging: when exchanges with a remote last succeeded, and how they failed since, by
        /// address. JSON.
        case exchanges
        /// Merging: the tables that could not be compared with other replicas. JSON.
        case uncompared
        /// Merging: the newest own transaction that tells of a decision about members.
        case decided
        /// Merging: the vector that has to be covered before the facts are all those of what was
        /// merged: of batches that were merged, the vector to which the last one of them leads.
        case goal
        /// Merging: 1 while the tables may hold changes that are neither in the log nor in the
        /// records; the tables that were dropped after their rows were translated to facts; the key
        /// columns of the translated tables; the hash of the schema by which the tables show the
        /// facts. The second and the third are JSON.
        case unseen, gone, keys, shown
        /// Merging: 1 where a table or a column has another name than facts call it, or was
        /// dropped: `syncd_name` is needed then.
        case named
        /// Merging: 1 where another replica has another name for a table or a column than facts.
        case renamed
        /// Merging: the marks of the schema's objects when it was last looked at; none: what is
        /// here next is no change. JSON.
        case structure
        /// Merging: the marks of the schemas that replicas stated before their newest ones. JSON.
        case schemas
        /// The command of another program that changes the schema now. JSON.
        case migration
    }

    package static let name = "syncd_meta"

    /// The statement that makes the table.
    package static let creation = """
        CREATE TABLE IF NOT EXISTS syncd_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID
        """

    /// The version of the format that this code writes and the newest that it reads.
    package static let format: Int64 = 1

    /// The greatest position in the log. No store reaches it by writing: a million rows a second
    /// would take 146,000 years. Positions below it can be added without overflow.
    package static let positionMax: Int64 = 1 << 62

    /// The hint for metadata that cannot be used.
    package static let startOverHint =
        "Restore a backup, or start over: synctool untrack DB, synctool track DB"

    package let connection: OpaquePointer
    private var select: Statement?
    private var upsert: Statement?

    /// - Parameter connection: `sqlite3 *` of a database.
    package init(_ connection: OpaquePointer) { self.connection = connection }

    /// - Throws: `internalFault` when the connection is closed.
    package convenience init(_ database: Database) throws {
        self.init(try database.openConnection)
    }

    /// The value of a key; NULL when there is no row.
    /// - Throws: the error of SQLite, `refused` when the table is missing.
    package func value(_ key: Key) throws -> Value {
        try row(key) { $0.value(0) } ?? .null
    }

    /// The value as an integer; nil when there is no row or it is NULL. Text that is no number is
    /// 0.
    /// - Throws: as ``value(_:)``.
    package func integerIfPresent(_ key: Key) throws -> Int64? {
        try row(key) { $0.integerOrNil(0) } ?? nil
    }

    /// The value as text; nil when there is no row or it is NULL.
    /// - Throws: as ``value(_:)``.
    package func text(_ key: Key) throws -> String? {
        try row(key) { $0.text(0) } ?? nil
    }

    /// The value when it is an integer, otherwise 0.
    /// - Throws: as ``value(_:)``.
    package func integer(_ key: Key) throws -> Int64 {
        if case .integer(let value) = try value(key) { return value }
        return 0
    }

    /// A position in the log or in history: 0 when there is none.
    /// - Throws: `corrupt` for a value that is not a position; as ``value(_:)``.
    package func position(_ key: Key) throws -> Int64 {
        let value = try value(key)
        if value == .null { return 0 }
        guard case .integer(let position) = value, 0...Self.positionMax ~= position else {
            throw SyncError(
                .corrupt, "the setting \(key.rawValue) in syncd_meta is not a position: \(value)",
                hint: Self.startOverHint)
        }
        return position
    }

    /// Stores a value.
    /// - Throws: the error of SQLite.
    package func set(_ key: Key, to value: Value) throws {
        let statement = try upsert ?? Statement(Self.upsertSQL, on: connection)
        upsert = statement
        try statement.run(.text(key.rawValue), value)
    }

    private static let upsertSQL = """
        INSERT INTO syncd_meta(key, value) VALUES (?1, ?2)
        ON CONFLICT(key) DO UPDATE SET value = excluded.value
        """

    /// Calls `body` with the row of a key; nil when there is none.
    private func row<Result>(_ key: Key, reading body: (Statement) -> Result) throws -> Result? {
        let statement =
            try select
            ?? Statement("SELECT value FROM syncd_meta WHERE key = ?1", on: connection)
        select = statement
        statement.bind(key.rawValue, at: 1)
        defer { statement.reset() }
        return try statement.step() ? body(statement) : nil
    }
}

extension Database {
    /// The connection (`sqlite3 *`).
    /// - Throws: `internalFault` when it is closed.
    package var openConnection: OpaquePointer {
        get throws {
            guard let sqliteConnection else {
                throw SyncError(.internalFault, "the connection is closed")
            }
            return sqliteConnection
        }
    }
}

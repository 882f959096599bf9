import Foundation
import GRDB
import SyncStorage
import SyncValues

/// The settings of a store: the rows of `syncd_meta` (`docs/store-format.md` §1.6).
package enum StoreMeta {
    /// The key that says which new tables are recorded: ``allTables``, or those that somebody
    /// names.
    package static let tables = "tables"
    static let allTables = "all"

    /// A clone: it had no other tables than the recorded ones.
    package static let clonedTables = "cloned"

    /// Whether a table that is not recorded is one that nobody chose to leave out.
    static func namesNewTables(_ db: Database) throws -> Bool {
        let tables = try String.fetchOne(db, sql: select, arguments: [tables])
        return [allTables, clonedTables].contains(tables)
    }

    /// The store has stated its rows to others: there are records to compare its tables with.
    static func isStated(_ db: Database) throws -> Bool { try integer(db, "stated") != nil }

    /// The next merge compares the tables with the records.
    package static let unseen = "unseen"
    /// The tables, by folded name, that were dropped since their rows were stated, as JSON.
    package static let gone = "gone"

    package static func goneTables(_ db: Database) throws -> [String] {
        guard let json = try String.fetchOne(db, sql: select, arguments: [gone]) else { return [] }
        return try JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    package static func setGone(_ db: Database, _ tables: [String]) throws {
        let json = try JSONEncoder().encode(Array(Set(tables)).sorted())
        try set(db, gone, String(decoding: json, as: UTF8.self))
    }

    static func recordsNewTables(_ db: Database) throws -> Bool {
        try String.fetchOne(db, sql: select, arguments: [tables]) == allTables
    }

    package static func integer(_ db: Database, _ key: String) throws -> Int64? {
        try Int64.fetchOne(db, sql: select, arguments: [key])
    }

    package static func bytes(_ db: Database, _ key: String) throws -> [UInt8]? {
        try Data.fetchOne(db, sql: select, arguments: [key]).map { [UInt8]($0) }
    }

    package static func set(_ db: Database, _ key: String, _ value: (any DatabaseValueConvertible)?)
        throws
    {
        try db.execute(
            sql: "INSERT OR REPLACE INTO syncd_meta(key, value) VALUES(?, ?)",
            arguments: [key, value])
    }

    private static let select = "SELECT value FROM syncd_meta WHERE key = ?"

    /// - Throws: `newerFormat` when a newer version wrote the store, `notTracked` when none did,
    ///   `storeDamaged` when tables of it are missing.
    package static func requireReadable(_ db: Database) throws {
        try requireKnownFormat(db)
        if let damage = try StoreDamage.find(db) { throw damage.error }
        if try !exist(db) { throw notTracked }
    }

    package static let notTracked = SyncError(
        .notTracked, "the database is not tracked", hint: "Run: synctool track DB")

    /// Whether there are settings, of whatever version.
    package static func exist(_ db: Database) throws -> Bool {
        try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo('syncd_meta', 'main')")
            == ["key", "value"]
    }

    /// A batch was sent or merged: the clock of merging was read.
    static func hasMerged(_ db: Database) throws -> Bool {
        guard try exist(db) else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS(SELECT 1 FROM syncd_meta
                WHERE key IN ('stated', 'clock') AND value <> 0)
                """) ?? false
    }

    /// - Throws: `newerFormat` when a newer version wrote what is there.
    static func requireKnownFormat(_ db: Database) throws {
        guard try exist(db) else { return }
        let format = try integer(db, "format") ?? 0
        guard format <= StoreSchema.format else {
            throw SyncError(
                .newerFormat,
                "the store has format \(format), this version reads up to \(StoreSchema.format)",
                hint: "Install a newer syncd")
        }
    }

    /// A new store of which this file is the first replica.
    package static func create(_ db: Database) throws {
        try set(db, "format", StoreSchema.format)
        try set(db, "store", randomBytes())
        try set(db, "replica", randomBytes())
        try set(db, "epoch", 1)
        try db.execute(
            sql: """
                INSERT INTO syncd_meta(key, value)
                VALUES('created', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
                """)
    }

    /// Makes it another store, and its file another replica.
    package static func renewIdentity(_ db: Database) throws {
        try set(db, "store", randomBytes())
        try set(db, "replica", randomBytes())
    }

    private static func randomBytes() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}

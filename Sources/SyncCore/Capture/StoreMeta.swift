import Foundation
import GRDB

/// The settings of a store: the rows of `syncd_meta` (`docs/store-format.md` §1.6).
enum StoreMeta {
    /// The key that says which new tables are recorded: ``allTables``, or those that somebody
    /// names.
    static let tables = "tables"
    static let allTables = "all"

    static func recordsNewTables(_ db: Database) throws -> Bool {
        try String.fetchOne(db, sql: select, arguments: [tables]) == allTables
    }

    static func integer(_ db: Database, _ key: String) throws -> Int64? {
        try Int64.fetchOne(db, sql: select, arguments: [key])
    }

    static func bytes(_ db: Database, _ key: String) throws -> [UInt8]? {
        try Data.fetchOne(db, sql: select, arguments: [key]).map { [UInt8]($0) }
    }

    static func set(_ db: Database, _ key: String, _ value: (any DatabaseValueConvertible)?) throws
    {
        try db.execute(
            sql: "INSERT OR REPLACE INTO syncd_meta(key, value) VALUES(?, ?)",
            arguments: [key, value])
    }

    private static let select = "SELECT value FROM syncd_meta WHERE key = ?"

    /// - Throws: `newerFormat` when a newer version wrote the store, `notTracked` when none did.
    static func requireReadable(_ db: Database) throws {
        guard try StoreSchema.isTracked(db) else {
            throw SyncError(
                .notTracked, "the database is not tracked", hint: "Run: synctool track FILE")
        }
        let format = try integer(db, "format") ?? 0
        guard format <= StoreSchema.format else {
            throw SyncError(
                .newerFormat,
                "the store has format \(format), this version reads up to \(StoreSchema.format)",
                hint: "Install a newer syncd")
        }
    }

    /// A new store of which this file is the first replica.
    static func create(_ db: Database) throws {
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

    private static func randomBytes() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
}

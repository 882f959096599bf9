import Foundation
import GRDB
import SyncCore

/// What the object layer keeps about a store, inside of it: its identity, the model it was written
/// under, and what the application adds. An existing database is not changed until metadata is set.
struct StoreMetadata {
    static let table = "sync_objects"
    private static let uuidKey = "uuid"
    private static let modelKey = "model"
    private static let userPrefix = "user."

    let db: Database

    func isThere() throws -> Bool { try db.tableExists(Self.table) }

    func create() throws {
        try db.execute(
            sql: "CREATE TABLE IF NOT EXISTS \(Self.table)"
                + "(key TEXT PRIMARY KEY, value) WITHOUT ROWID")
    }

    private func value(_ key: String) throws -> String? {
        guard try isThere() else { return nil }
        return try String.fetchOne(
            db, sql: "SELECT value FROM \(Self.table) WHERE key = ?", arguments: [key])
    }

    private func set(_ key: String, to value: String?) throws {
        try create()
        guard let value else {
            try db.execute(sql: "DELETE FROM \(Self.table) WHERE key = ?", arguments: [key])
            return
        }
        try db.execute(
            sql: "INSERT INTO \(Self.table)(key, value) VALUES (?, ?)"
                + " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            arguments: [key, value])
    }

    func uuid() throws -> UUID? { try value(Self.uuidKey).flatMap(UUID.init(uuidString:)) }

    func setUUID(_ uuid: UUID) throws { try set(Self.uuidKey, to: uuid.uuidString) }

    func model() throws -> ManagedObjectModel? {
        try value(Self.modelKey).map(ModelArchive.model)
    }

    func setModel(_ model: ManagedObjectModel) throws {
        try set(Self.modelKey, to: try ModelArchive(model).text())
    }

    func user() throws -> [String: String] {
        guard try isThere() else { return [:] }
        let rows = try Row.fetchAll(
            db, sql: "SELECT key, value FROM \(Self.table) WHERE key LIKE 'user.%'")
        return Dictionary(
            uniqueKeysWithValues: rows.map {
                (String(($0[0] as String).dropFirst(Self.userPrefix.count)), $0[1] as String)
            })
    }

    func setUser(_ key: String, to value: String?) throws {
        try set(Self.userPrefix + key, to: value)
    }
}

import Foundation
import GRDB
import SyncCore
import SyncStorage
import SyncValues

/// The tables whose objects are recorded. The identity of an object, its table and its key, cannot
/// change afterwards.
///
/// However the schema was changed (by this program, another one, with or without a daemon), a store
/// with such a change neither records nor merges until the change is undone: it would confuse
/// objects.
struct RecordedTables {
    private let connection: OpaquePointer
    private let database: Database
    private let settings: Metadata

    init(_ connection: OpaquePointer, database: Database, settings: Metadata) {
        self.connection = connection
        self.database = database
        self.settings = settings
    }

    /// Compares a schema with what was recorded, and stores its keys.
    /// - Throws: `refused` when a table was renamed or has another key; SQLite errors.
    /// - Complexity: O(columns of the schema)
    func check(_ schema: ReplicaSchema) throws {
        var keys = try knownKeys()
        let before = keys
        if try settings.value(.stated) != .null {
            try checkNames(schema)
            try checkKeys(of: schema, known: keys)
        }
        for (table, entity) in zip(schema.tables, schema.merge.entities) {
            keys[SQLName.folded(table.name)] =
                entity.key.map { SQLName.folded(table.columns[$0]) }
        }
        guard keys != before else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(keys), as: UTF8.self)
        try settings.set(.keys, to: .text(text))
    }

    private func knownKeys() throws -> [String: [String]] {
        guard case .text(let json) = try settings.value(.keys) else { return [:] }
        return (try? JSONDecoder().decode([String: [String]].self, from: Data(json.utf8))) ?? [:]
    }

    private func checkKeys(of schema: ReplicaSchema, known keys: [String: [String]]) throws {
        let stored = try Shapes.Stored(connection)
        for (table, entity) in zip(schema.tables, schema.merge.entities) {
            let name = SQLName.folded(table.name)
            let key = entity.key.map { SQLName.folded(table.columns[$0]) }
            let isOther = keys[name].map { $0 != key } ?? false
            guard let former = try stored.identityCode(name),
                isOther || former != entity.identityCode
            else { continue }
            if !isOther, former != 0, entity.isPrivate {
                throw SyncError(
                    .refused,
                    "the rows of \(table.name) were recorded before the store's choice of identity "
                        + "for that table (shared or private numbers) arrived",
                    hint: "Begin again from the store: synctool clone REMOTE NEW.db")
            }
            throw SyncError(
                .refused,
                "the primary key of \(table.name) was changed after it was synchronised",
                hint: "Give the table its former key again: a synchronised store keeps its keys")
        }
    }

    private func checkNames(_ schema: ReplicaSchema) throws {
        let stored = try Shapes.Stored(connection)
        let entities = Dictionary(
            uniqueKeysWithValues: try EntityTable(database).all().map { ($0.id, $0) })
        for entity in entities.values.sorted(by: { $0.id < $1.id }) where !entity.isRetired {
            var step = entity
            while let previous = step.layout.previous.flatMap({ entities[$0] }) {
                step = previous
                guard schema.position(of: step.name) == nil else { continue }
                guard try stored.identityCode(SQLName.folded(step.name)) != nil else { continue }
                let sql =
                    "ALTER TABLE \(SQLName.quoted(entity.name)) "
                    + "RENAME TO \(SQLName.quoted(step.name))"
                throw SyncError(
                    .refused,
                    "the synchronised table \(step.name) was renamed to \(entity.name)",
                    hint: "A store that synchronises keeps its tables' names: "
                        + "synctool alter DB \(Shell.quoted(sql))")
            }
        }
    }
}

import Foundation
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The tables that objects were stated of: what an object is, its table and its key, cannot change
/// afterwards.
///
/// However the schema was changed (by this program, another one, with or without a daemon), a store
/// with such a change neither states nor merges until it is taken back: objects would be taken for
/// others.
struct StatedTables {
    private let connection: OpaquePointer
    private let database: Database
    private let settings: Settings

    init(_ connection: OpaquePointer, _ database: Database, _ settings: Settings) {
        self.connection = connection
        self.database = database
        self.settings = settings
    }

    /// Compares a schema with what was stated, and remembers its keys.
    /// - Throws: `refused` when a table was renamed or has another key.
    func check(_ schema: ReplicaSchema) throws {
        var keys = try knownKeys()
        let before = keys
        if try settings.value(.stated) != .null {
            try checkNames(schema)
            try checkKeys(schema, keys)
        }
        for (table, entity) in zip(schema.tables, schema.merge.entities) {
            keys[SQLName.folded(table.name)] =
                entity.key.map { SQLName.folded(table.columns[$0]) }
        }
        guard keys != before else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(keys), as: UTF8.self)
        try settings.set(.keys, .text(text))
    }

    private func knownKeys() throws -> [String: [String]] {
        guard case .text(let json) = try settings.value(.keys) else { return [:] }
        return (try? JSONDecoder().decode([String: [String]].self, from: Data(json.utf8))) ?? [:]
    }

    private func checkKeys(_ schema: ReplicaSchema, _ keys: [String: [String]]) throws {
        let select = try Statement(
            connection,
            """
            SELECT private FROM syncd_shape WHERE name = ?1
              AND EXISTS (SELECT 1 FROM syncd_object WHERE shape = syncd_shape.id)
            """)
        for (table, entity) in zip(schema.tables, schema.merge.entities) {
            let name = SQLName.folded(table.name)
            select.bind(1, name)
            defer { select.reset() }
            let key = entity.key.map { SQLName.folded(table.columns[$0]) }
            let isOther = keys[name].map { $0 != key } ?? false
            // Asked only where something has changed: it may read all objects.
            guard try select.step(), isOther || select.integer(0) != (entity.isPrivate ? 1 : 0)
            else { continue }
            throw SyncError(
                .refused,
                "the primary key of \(table.name) is another one since it was synchronised",
                hint: "Give the table its former key again; a store that synchronises keeps it")
        }
    }

    private func checkNames(_ schema: ReplicaSchema) throws {
        let select = try Statement(
            connection,
            """
            SELECT 1 FROM syncd_shape WHERE name = ?1
              AND EXISTS (SELECT 1 FROM syncd_object WHERE shape = syncd_shape.id)
            """)
        let entities = Dictionary(
            uniqueKeysWithValues: try Entity.all(database).map { ($0.id, $0) })
        for entity in entities.values.sorted(by: { $0.id < $1.id }) where !entity.isRetired {
            var step = entity
            while let previous = step.layout.previous.flatMap({ entities[$0] }) {
                step = previous
                guard schema.position(of: step.name) == nil else { continue }
                select.bind(1, SQLName.folded(step.name))
                defer { select.reset() }
                guard try select.step() else { continue }
                let sql =
                    "ALTER TABLE \(SQLName.quoted(entity.name)) "
                    + "RENAME TO \(SQLName.quoted(step.name))"
                throw SyncError(
                    .refused,
                    "the synchronised table \(step.name) was renamed to \(entity.name)",
                    hint: "A store that synchronises keeps its tables' names: "
                        + "synctool alter DB '\(sql)'")
            }
        }
    }
}

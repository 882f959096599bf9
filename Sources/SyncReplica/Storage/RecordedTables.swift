import Foundation
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// The tables whose objects are recorded. What their primary keys consist of cannot change
/// afterwards; their names, and those of the key's columns, can (``SchemaNames``).
///
/// However the schema was changed (by this program, another one, with or without a daemon), a store
/// with such a change neither records nor merges until the change is undone: it would confuse
/// objects.
struct RecordedTables {
    private let connection: OpaquePointer
    private let settings: Metadata

    init(_ connection: OpaquePointer, settings: Metadata) {
        self.connection = connection
        self.settings = settings
    }

    /// Compares a schema with what was recorded, and stores its keys.
    /// - Throws: `refused` when a table has another key; `cannotTrack` when one cannot be merged
    ///   any more; SQLite errors.
    /// - Complexity: O(columns of the schema)
    func check(_ schema: ReplicaSchema) throws {
        let before = try knownKeys()
        try require(schema, known: before)
        var keys = before
        for entity in schema.merge.entities {
            keys[SQLName.folded(entity.name)] = entity.keyIdentities
        }
        guard keys != before else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(keys), as: UTF8.self)
        try settings.set(.keys, to: .text(text))
    }

    /// Compares a schema with what was recorded, and writes nothing.
    /// - Throws: as ``check(_:)``.
    /// - Complexity: O(columns of the schema)
    func require(_ schema: ReplicaSchema) throws { try require(schema, known: knownKeys()) }

    private func require(_ schema: ReplicaSchema, known keys: [String: [String]]) throws {
        guard try settings.isStated() else { return }
        let isKnown = { (table: String) in
            keys[SQLName.folded(schema.names.identity(ofTable: table))] != nil
        }
        if let table = schema.unmerged.first(where: { isKnown($0.name) }) {
            throw SyncError(
                .cannotTrack,
                "\(table.name) was synchronised and cannot be any more: \(table.reason)",
                hint: "Give the tables their former foreign keys again")
        }
        try checkKeys(of: schema, known: keys)
    }

    private func knownKeys() throws -> [String: [String]] {
        guard case .text(let json) = try settings.value(.keys) else { return [:] }
        return (try? JSONDecoder().decode([String: [String]].self, from: Data(json.utf8))) ?? [:]
    }

    private func checkKeys(of schema: ReplicaSchema, known keys: [String: [String]]) throws {
        let stored = try Shapes.Stored(connection)
        for (table, entity) in zip(schema.tables, schema.merge.entities) {
            let name = SQLName.folded(entity.name)
            let isOther = keys[name].map { $0 != entity.keyIdentities } ?? false
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
                isOther
                    ? "the primary key of \(table.name) was changed after it was synchronised"
                    : "the primary key of \(table.name) is not what it was when it was "
                        + "synchronised: its type, or the table that it refers to, is another one",
                hint: isOther
                    ? "Give the table its former key again: a synchronised store keeps its keys"
                    : "Give the key its former type and reference again, and make the table again "
                        + "that it refers to")
        }
    }
}

extension MergeEntity {
    /// The folded identities of the key's columns, in key order.
    fileprivate var keyIdentities: [String] { key.map { SQLName.folded(columns[$0].name) } }
}

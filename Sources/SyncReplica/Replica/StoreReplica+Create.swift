import Foundation
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// What the name of a new file has after it until its first content is complete.
    package static let draftEnding = ".syncd-clone"

    /// Makes a new replica from a snapshot: a new tracked database with the schema of the snapshot,
    /// in which the snapshot is merged. Batches that follow are merged into it.
    ///
    /// The file gets its name when it is complete.
    ///
    /// Views, and triggers that do not fill an index, are made by ``completeCopy(at:consent:)``
    /// after the last batch.
    /// - Parameters:
    ///   - schemas: what batches that follow state of the schema; the newest of all is made.
    ///   - isPrivate: no other user may read it, from its first byte on: it will have keys, or is
    ///     not complete.
    /// - Throws: ``SyncError``: `refused` when the file exists, or when something that this user
    ///   did not make has the name of a temporary file; `badData` when the batch is no
    ///   snapshot, or its schema has a statement that ``ReceivedSchema`` does not run; `readOnly`.
    /// - Complexity: O(rows and facts of the store)
    package static func create(
        at path: String, from snapshot: [UInt8], schemas: [SchemaRecord] = [],
        isPrivate: Bool = false,
        wall: @escaping @Sendable () -> Int64 = { Timestamp.now().milliseconds }
    ) throws -> StoreReplica {
        let batch = try BatchDecoder.decode(snapshot)
        guard batch.from.isEmpty else {
            throw SyncError(
                .badData, "the batch is no snapshot", operation: "clone", path: path,
                hint: "Push to the remote from a replica first")
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw SyncError(
                .refused, "the file exists", operation: "clone", path: path,
                hint: "Choose another name, or remove it first")
        }
        let draft = path + draftEnding
        try DraftFile(draft).remove()
        do {
            let content = try firstSchema(
                of: batch, among: batch.schemas + schemas, draft: draft)
            try makeEmptyStore(
                at: draft, for: batch, content: content, mode: isPrivate ? 0o600 : 0o666)
            if let content { try SchemaCopy(content, consenting: false).makeIndexes(at: draft) }
            let replica = try StoreReplica(draft, wall: wall)
            _ = try replica.merge(snapshot, isAlone: true)
            if batch.proofs[batch.sender] != nil { try replica.startSigning() }
            try replica.close()
            try FileManager.default.moveItem(atPath: draft, toPath: path)
        } catch {
            try? DraftFile(draft).remove()
            throw Store.explained(error, path: path, operation: "clone")
        }
        return try StoreReplica(path, wall: wall)
    }

    /// The schema that a new replica begins with: the newest of the store, where that has all
    /// tables and columns of the sender that were not dropped since, under the sender's names, and
    /// none that refers to what it does not have: put together of those of two replicas, it may
    /// name a table as one of them alone does. Where tables or columns were renamed, by the sender
    /// or elsewhere, the new one begins with the tables of the sender, and `synctool schema` lists
    /// the rest: the renames among it.
    /// - Returns: nil: the tables and indexes of the snapshot.
    private static func firstSchema(
        of batch: Batch, among records: [SchemaRecord], draft: String
    ) throws -> SchemaContent? {
        guard let content = records.newest?.content, !batch.isRenamed,
            // Names that were exchanged are all there, and mean something else.
            !(content.names ?? []).contains(where: \.isRenamed)
        else { return nil }
        guard !batch.extras.schema.isEmpty else { return content }
        let present = try tables(of: ReceivedSchema(batch, isStated: true), draft: draft)
        guard
            let known = try? tables(
                of: ReceivedSchema(batch, content: content, isStated: true), draft: draft),
            columns(of: known).isSuperset(of: columns(of: present, besidesDroppedIn: content))
        else { return nil }
        // A table that is not tracked is made later.
        let others = Set(content.objects.map { SQLName.folded($0.name) })
        let dangling = danglingTargets(of: known).filter { $0.count > 2 || !others.contains($0[1]) }
        return dangling.isSubset(of: danglingTargets(of: present)) ? content : nil
    }

    private static func tables(of schema: ReceivedSchema, draft: String) throws -> [TableSchema] {
        defer { try? DraftFile(draft).remove() }
        try schema.create(at: draft, mode: 0o600)
        let queue = try DatabaseOpener.open(draft)
        defer { try? queue.close() }
        return try queue.read { try SchemaReader($0).tables() }
    }

    /// Each table with each of its columns, folded.
    /// - Parameter content: a schema without renames; what it has dropped is left out.
    private static func columns(
        of tables: [TableSchema], besidesDroppedIn content: SchemaContent? = nil
    ) -> Set<[String]> {
        Set(
            tables.flatMap { table in
                table.columns.filter { column in
                    !(content?.hasDropped(column.name, of: table.name) ?? false)
                }.map { [SQLName.folded(table.name), SQLName.folded($0.name)] }
            })
    }

    /// Each table with what its foreign keys name and is not there, folded: a table, or a table and
    /// a column of it.
    private static func danglingTargets(of tables: [TableSchema]) -> Set<[String]> {
        let columns = columns(of: tables)
        let names = Set(tables.map { SQLName.folded($0.name) })
        var dangling: Set<[String]> = []
        for table in tables {
            let name = SQLName.folded(table.name)
            for foreignKey in table.foreignKeys {
                let parent = SQLName.folded(foreignKey.parent)
                guard names.contains(parent) else {
                    dangling.insert([name, parent])
                    continue
                }
                for column in foreignKey.parentColumns.map(SQLName.folded)
                where !columns.contains([parent, column]) {
                    dangling.insert([name, parent, column])
                }
            }
        }
        return dangling
    }

    private static func makeEmptyStore(
        at path: String, for batch: Batch, content: SchemaContent?, mode: mode_t
    ) throws {
        try ReceivedSchema(batch, content: content, isStated: content != nil)
            .create(at: path, mode: mode)
        let queue = try DatabaseOpener.open(path)
        // Of tables that the sender does not have either, it may have forwarded facts.
        let wanted =
            content?.objects.filter(\.isTracked).map(\.name) ?? ReceivedSchema.tables(of: batch)
        let names = try queue.read { database in try wanted.filter { try database.tableExists($0) }
        }
        try Store.track(path, entities: .only(names))
        try queue.writeWithoutTransaction { database in
            guard let connection = database.sqliteConnection else { return }
            try RawTransaction.write(on: connection) {
                let settings = Metadata(connection)
                // A table that is there and not tracked would be taken for a new one.
                if !(content?.hasUntrackedTables ?? false) {
                    try Metadata(database).setNewTables(.cloned)
                }
                try settings.set(.store, to: .blob(batch.store.bytes))
                // Its numbers mean nothing in the tokens of other replicas, nor theirs here.
                try settings.set(.epoch, to: .integer(.random(in: epochs)))
                // The database is empty: all rows come from the store.
                try settings.set(.stated, to: .integer(0))
                // Nor is its schema a change.
                try settings.set(.structure, to: .text("{}"))
                try adoptNames(
                    of: batch, dropped: content?.names ?? [], in: database, on: connection)
                if !batch.extras.policies.isEmpty {
                    try settings.set(.policies, to: .text(batch.extras.policies))
                }
            }
        }
        try queue.close()
    }

    /// What the epoch of a new replica is drawn from: the first one has 1.
    private static let epochs = Int64(1 << 20)...Int64(UInt32.max)

    /// The names of what the sender has, without those that it has heard of: another replica may
    /// have given a column the name that one of the sender has. The key of private numbers is not
    /// described, and keeps its name unless a described column has it.
    private static func ownNames(of batch: Batch) -> [EntityNames] {
        batch.names.map { named in
            // What is forwarded follows in a second description.
            let described = batch.entities.filter { SQLName.isEqual($0.name, to: named.entity) }
                .map { Set($0.cells.joined().map(SQLName.folded)) }
            let own = described.dropFirst().reduce(described.first ?? []) { $0.subtracting($1) }
            let renamed = named.columns.filter { own.contains(SQLName.folded($0.key)) }
            let present = own.subtracting(renamed.keys.map(SQLName.folded))
                .union(renamed.values.compactMap { $0.map(SQLName.folded) })
            var named = named
            named.columns = named.columns.filter { identity, name in
                guard let name, present.contains(SQLName.folded(name)) else { return true }
                return own.contains(SQLName.folded(identity))
            }
            return named
        }
    }

    /// The new replica calls its tables and columns in facts as the sender does.
    /// - Parameter dropped: the names of the schema that it begins with: what was dropped since is
    ///   dropped here, too.
    private static func adoptNames(
        of batch: Batch, dropped: [EntityNames], in database: Database,
        on connection: OpaquePointer
    ) throws {
        var stated = ownNames(of: batch)
        for entity in dropped {
            let columns = entity.columns.filter { $0.value == nil }
            guard !columns.isEmpty else { continue }
            let place = stated.firstIndex { SQLName.isEqual($0.entity, to: entity.entity) }
            if let place {
                stated[place].columns.merge(columns) { _, dropped in dropped }
            } else {
                stated.append(
                    EntityNames(entity: entity.entity, name: entity.name, columns: columns))
            }
        }
        guard !stated.isEmpty else { return }
        try ReplicationTables.create(connection)
        let names = SchemaNames(stated, tables: try EntityTable.liveTables(of: database))
        var foreign = ForeignNames()
        foreign.note(batch, own: names)
        try NameStorage(connection).write(names, foreign: foreign)
    }
}

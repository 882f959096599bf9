import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// The schema of the store: the newest that a replica stated, with what others changed at the
    /// same time; nil: none is known, because the store does not sign or was last sent by an
    /// earlier version.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package func storeSchema() throws -> SchemaRecord? {
        try run("schema") { session in
            guard try session.isMerging() else { return nil }
            return try session.transact { try $0.storage.concurrentSchemas.newest() }
        }
    }

    // MARK: A new replica

    /// Makes what a new replica lacks of the store's schema, after its last batch: views, triggers,
    /// virtual and untracked tables, and the settings of the file. Can be repeated.
    /// - Parameters:
    ///   - consent: called with what writes tracked tables or is recursive, before it is made; nil:
    ///     that is not made.
    ///   - wall: the clock, in milliseconds.
    /// - Throws: ``SyncError``: as ``init(_:)`` and ``Store/alter(_:running:making:)``; what
    ///   `consent` throws.
    /// - Complexity: O(schema, and rows of the tables that have a full-text index)
    package static func completeCopy(
        at path: String, consent: (([RefusedObject]) throws -> Void)? = nil,
        wall: @escaping @Sendable () -> Int64 = { Timestamp.now().milliseconds }
    ) throws -> CopyReport {
        func opened<Result>(_ body: (StoreReplica) throws -> Result) throws -> Result {
            try Self.opened(path, wall: wall, body)
        }
        guard let schema = try opened({ try $0.storeSchema() }) else {
            return CopyReport(refused: [], isSchemaKnown: false, comparison: nil)
        }
        let content = schema.content
        if let consent {
            let review = try SchemaReview(content, consents: false)
            try consent(review.refused.filter(\.needsConsent))
        }
        try opened { try $0.expectSchemaChange() }
        let refused = try SchemaCopy(content, consenting: consent != nil).finish(at: path)
        let isKnown = schema.revision > 0
        let comparison = try opened { replica in
            _ = try replica.vector
            return isKnown ? try replica.compareSchema(consenting: consent != nil) : nil
        }
        return CopyReport(refused: refused, isSchemaKnown: isKnown, comparison: comparison)
    }

    private static func opened<Result>(
        _ path: String, wall: @escaping @Sendable () -> Int64 = { Timestamp.now().milliseconds },
        _ body: (StoreReplica) throws -> Result
    ) throws -> Result {
        let replica = try StoreReplica(path, wall: wall)
        do {
            let result = try body(replica)
            try replica.close()
            return result
        } catch {
            try? replica.close()
            throw error
        }
    }

    /// What the schema is next is no change that this replica states.
    private func expectSchemaChange() throws {
        try run("schema") { session in
            try session.transact { try $0.storage.schemas.setSeen([:]) }
        }
    }

    // MARK: A replica with another schema

    /// Compares the store's schema with that of this database.
    /// - Parameter consents: whether what writes tracked tables, or is recursive, is among the
    ///   changes.
    /// - Returns: nil: the store's schema is not known.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(schema)
    public func compareSchema(consenting consents: Bool = false) throws -> SchemaComparison? {
        try run("schema") { session in
            guard try session.isMerging() else { return nil }
            return try session.transact { transaction in
                let storage = transaction.storage
                let known = try storage.schemas.all()
                let concurrent = storage.concurrentSchemas
                guard let schema = try concurrent.newest() else { return nil }
                let own = known.first { $0.dot.replica == transaction.identity.replica }
                let names = SchemaComparing.Names(
                    own: storage.schema.names, isRenamed: try transaction.settings.isRenamed(),
                    isConcurrent: try own.map { try !concurrent.isKnown($0, to: schema) }
                        ?? false)
                var comparing = try SchemaComparing(
                    schema, consenting: consents, in: transaction.database, names: names)
                return try comparing.run()
            }
        }
    }

    /// A table or column that is made with the name of the store is the one of its identity.
    private func noteNames() throws {
        try run("schema") { session in
            try session.transact { transaction in
                let newest = try transaction.storage.concurrentSchemas.newest()
                guard let sent = newest?.content.names else { return }
                let storage = NameStorage(session.connection)
                let (own, before) = try storage.read()
                let foreign = before.noting(sent, besides: own)
                if foreign != before { try storage.write(own, foreign: foreign) }
            }
        }
    }

    /// Applies changes in one transaction, tracks the new tables, and shows what waited for them.
    /// - Parameter comparison: of this database; what has changed since fails.
    /// - Returns: what was not made.
    /// - Throws: ``SyncError``: as ``Store/alter(_:running:making:)`` and
    ///   ``Store/track(_:entities:options:)``.
    /// - Complexity: O(schema, and waiting facts)
    public static func applySchema(
        _ comparison: SchemaComparison, at path: String
    ) throws -> [RefusedObject] {
        try applySchema(comparison, at: path, wall: { Timestamp.now().milliseconds })
    }

    /// - Parameters:
    ///   - comparison: of this database; what has changed since fails.
    ///   - wall: the clock, in milliseconds.
    /// - Returns: what was not made.
    /// - Throws: as ``applySchema(_:at:)``.
    /// - Complexity: O(schema, and waiting facts)
    package static func applySchema(
        _ comparison: SchemaComparison, at path: String, wall: @escaping @Sendable () -> Int64
    ) throws -> [RefusedObject] {
        // What comes from the store's schema is no change that this replica states.
        try opened(path, wall: wall) {
            try $0.noteNames()
            try $0.expectSchemaChange()
        }
        let renames = comparison.changes.filter {
            $0.kind == .renameTable || $0.kind == .renameColumn
        }
        let failed = try Store.alter(path, running: renames.map(\.sql)) { database in
            try SchemaApplying(comparison).apply(in: database)
        }
        let tables = comparison.changes.filter { $0.kind == .newTable || $0.kind == .track }
        let new = try opened(path, wall: wall) { replica in
            try replica.run("schema") { session in
                let tracked = try EntityTable(session.database).live().map(\.name)
                return tables.map(\.name).filter { name in
                    !(tracked + failed.map(\.name)).contains { SQLName.isEqual($0, to: name) }
                }
            }
        }
        if !new.isEmpty { try Store.track(path, entities: .only(new)) }
        // Also where nothing waits: what is changed next is a change of this replica.
        try opened(path, wall: wall) { try $0.prepare() }
        return failed
    }
}

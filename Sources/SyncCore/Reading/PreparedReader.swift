import SyncStorage

/// The prepared statements of a reading connection, and what is remembered between queries.
///
/// Confined to the connection's queue.
package final class PreparedReader {
    package let connection: OpaquePointer
    let catalog: EntityCatalog
    let metadata: Metadata
    let log: LogReader
    /// Has the births in transactions that earlier queries have passed, so that the next page of
    /// a backlog does not read all of it again.
    let resolver: ChangeResolver
    private let schemaVersion: Statement
    private var schema: Int64?

    init(_ connection: OpaquePointer, identity: StoreIdentity) throws {
        self.connection = connection
        catalog = try EntityCatalog(connection)
        metadata = Metadata(connection)
        log = try LogReader(connection, catalog: catalog)
        resolver = try ChangeResolver(
            connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
        schemaVersion = try Statement("PRAGMA main.schema_version", on: connection)
    }

    /// Reads the entities again where the schema is another than at the last query, within the
    /// transaction that the connection is in.
    /// - Throws: the error of SQLite.
    func noticeSchemaChange() throws {
        defer { schemaVersion.reset() }
        guard try schemaVersion.step(), schemaVersion.integer(0) != schema else { return }
        if schema != nil { try catalog.reload() }
        schema = schemaVersion.integer(0)
    }
}

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

    init(_ connection: OpaquePointer, identity: StoreIdentity) throws {
        self.connection = connection
        catalog = try EntityCatalog(connection)
        metadata = Metadata(connection)
        log = try LogReader(connection, catalog: catalog)
        resolver = try ChangeResolver(
            connection, store: identity.store, epoch: identity.epoch, catalog: catalog)
    }
}

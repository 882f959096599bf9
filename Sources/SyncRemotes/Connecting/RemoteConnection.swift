import SyncReplica

/// A remote of any kind, as one replica uses it.
///
/// A connection over ssh is made by the first call that needs it, and ended by ``disconnect()``.
/// ``with(_:store:replica:ring:perform:)`` does so on every path.
package struct RemoteConnection: Sendable {
    private let remote: any Remote

    /// Opens a remote, as the replica uses it.
    /// - Parameters:
    ///   - store: the store that is expected at the remote.
    ///   - ring: the keys that open and seal batches of a folder.
    /// - Throws: `unreachable`, `refused` for a remote of another store; `invalidArgument` for an
    ///   address of an unknown kind.
    package init(
        _ entry: RemoteEntry, store: StoreID, replica: ReplicaID, ring: KeyRing
    ) throws {
        switch try RemoteAddress(entry.url) {
        case .directory(let path):
            let folder = try Self.folder(at: path, of: entry, store: store, replica: replica)
            remote = EncryptedRemote(
                folder, ring: ring, isSealing: entry.isEncrypted,
                remedy: "To encrypt: synctool remote remove DB \(entry.name) then "
                    + "synctool remote add DB \(entry.name) \(Shell.quoted(entry.url)) --encrypt")
        case .ssh(let address):
            remote = SSHRemote(address, store: store, options: Self.options(entry.options))
        }
    }

    private static func folder(
        at path: String, of entry: RemoteEntry, store: StoreID, replica: ReplicaID
    ) throws -> DirectoryRemote {
        do {
            return try DirectoryRemote(path, store: store, replica: replica)
        } catch var error as SyncError where error.code == .refused {
            error.hint =
                "Look whether the right folder is mounted there. To join that store instead, run: "
                + "synctool remote remove DB \(entry.name) then "
                + "synctool remote add DB \(entry.name) \(Shell.quoted(entry.url)) --join by-key"
            throw error
        }
    }

    private static func options(_ chosen: RemoteEntry.Options) -> SSHOptions {
        var options = SSHOptions()
        if let synctool = chosen.synctool { options.synctool = synctool }
        return options
    }

    /// Opens a remote, uses it, and disconnects, also when `perform` throws.
    /// - Throws: as ``init(_:store:replica:ring:)``, and what `perform` throws.
    package static func with<Result>(
        _ entry: RemoteEntry, store: StoreID, replica: ReplicaID, ring: KeyRing,
        perform: (RemoteConnection) async throws -> Result
    ) async throws -> Result {
        let connection = try RemoteConnection(entry, store: store, replica: replica, ring: ring)
        do {
            let result = try await perform(connection)
            await connection.disconnect()
            return result
        } catch {
            await connection.disconnect()
            throw error
        }
    }

    /// Pushes, pulls, or both.
    /// - Parameters:
    ///   - knownReach: how far the remote led after an exchange before.
    ///   - progress: gets the totals so far, after each batch.
    /// - Throws: as ``Exchange``. What was moved before the error stays.
    package func exchange(
        _ direction: ExchangeDirection, of replica: some Replica,
        knownReach: @escaping @Sendable () async throws -> VersionVector = { VersionVector() },
        progress: @escaping @Sendable (ExchangeReport) -> Void = { _ in }
    ) async throws -> ExchangeReport {
        func run(_ remote: some Remote) async throws -> ExchangeReport {
            let exchange = Exchange(
                replica, with: remote, knownReach: knownReach, progress: progress)
            return try await Self.run(exchange, direction)
        }
        return try await run(remote)
    }

    private static func run(
        _ exchange: Exchange<some Replica, some Remote>, _ direction: ExchangeDirection
    ) async throws -> ExchangeReport {
        switch direction {
        case .push: return try await exchange.push()
        case .pull: return try await exchange.pull()
        case .sync: return try await exchange.sync()
        }
    }

    /// The vectors that the replicas which use the remote have acknowledged.
    /// - Throws: `unreachable`.
    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try await remote.acknowledged()
    }

    /// The batch that a new replica starts from: of the intact ones, the one that leads furthest.
    /// - Parameter naming: gets the files that cannot be read, when none is left to start from.
    /// - Throws: `notAllowed` when a key or a permission is missing; `badData` when all that is
    ///   there is damaged; `refused` when there is nothing; `unreachable`; what `naming` throws.
    /// - Complexity: decodes the whole batch, and each damaged one before it.
    package func snapshot(
        naming: ([BatchCatalog.Problem]) throws -> Void = { _ in }
    ) async throws -> (envelope: BatchEnvelope, bytes: [UInt8]) {
        var catalog = try await remote.catalog(since: VersionVector())
        while let item = catalog.path(since: VersionVector()).first {
            do {
                let bytes = try await remote.fetch(item)
                _ = try BatchDecoder.decode(bytes)
                return (item.envelope, bytes)
            } catch let error as SyncError where error.code == .badData {
                let problem = BatchCatalog.Problem(name: item.name, reason: error.reason)
                catalog = BatchCatalog(
                    catalog.items.filter { $0 != item }, problems: catalog.problems + [problem])
            }
        }
        try naming(catalog.problems.filter { $0.missingKey == nil })
        if let key = catalog.problems.lazy.compactMap(\.missingKey).first {
            throw BatchSeal.missingKey(key)
        }
        if let denial = catalog.problems.denial { throw denial }
        if !catalog.problems.isEmpty {
            throw SyncError(
                .badData,
                "the remote has no snapshot to start from: files in it (\(catalog.problems.count)) "
                    + "cannot be used",
                hint: "Remove the damaged files, then on a replica that uses this remote run: "
                    + "synctool sync FILE; it sends again what is missing")
        }
        throw SyncError(
            .refused, "the remote has no readable snapshot to start from",
            hint: "On a replica that uses this remote run: synctool push FILE")
    }

    /// What the batches after a snapshot state of the store's schema, which may have changed since
    /// the snapshot. Batches of version 1 state their sender's tables and indexes alone.
    ///
    /// Nothing where a table or column was renamed since: the snapshot has the former names, and a
    /// schema does not say what was called so.
    /// - Throws: `unreachable`.
    /// - Complexity: decodes the batches that state a schema, and those of version 1.
    package func schemas(after snapshot: BatchEnvelope) async throws -> [SchemaRecord] {
        let path = try await remote.catalog(since: snapshot.upTo).path(since: snapshot.upTo)
        var records: [SchemaRecord] = []
        var isRenamed = false
        for item in path where item.envelope.version == 1 || item.envelope.hasSections {
            do {
                let batch = try BatchDecoder.decode(try await remote.fetch(item))
                isRenamed = isRenamed || batch.isRenamed
                records += batch.statedSchemas
            } catch let error as SyncError
                where [.badData, .unreachable, .notAllowed].contains(error.code)
            {
                // Passed over, and reported, when it is to be merged.
            }
        }
        // What facts call the tables is not known then.
        return isRenamed && records.newest?.content.names == nil ? [] : records
    }

    /// Copies the store behind the remote to a new file, for reading: the copy acknowledges and
    /// sends nothing. No other user may read it: what it becomes part of may be private.
    /// - Parameter naming: as for ``snapshot(naming:)``.
    /// - Throws: as ``snapshot(naming:)``, and what merging the rest throws.
    package func copy(
        to path: String, naming: ([BatchCatalog.Problem]) throws -> Void = { _ in }
    ) async throws {
        let snapshot = try await snapshot(naming: naming)
        let replica = try StoreReplica.create(
            at: path, from: snapshot.bytes,
            schemas: try await schemas(after: snapshot.envelope), isPrivate: true)
        defer { try? replica.close() }
        let report = try await Self.inspect(remote, into: replica)
        if let key = report.missingKey { throw BatchSeal.missingKey(key) }
        // A row that is missing in the copy would be there twice after a join.
        if let lack = report.lack { throw lack }
    }

    private static func inspect(
        _ remote: some Remote, into replica: StoreReplica
    ) async throws -> ExchangeReport {
        try await Exchange(replica, with: remote).mergeOnly()
    }

    /// Ends the connection; without one it does nothing.
    package func disconnect() async { await remote.disconnect() }

    /// The store at an address.
    /// - Throws: `unreachable`.
    package static func store(
        at address: RemoteAddress, options: RemoteEntry.Options
    ) async throws -> StoreID {
        switch address {
        case .directory(let path): return try DirectoryRemote.store(of: path)
        case .ssh(let address):
            let remote = SSHRemote(address, store: nil, options: Self.options(options))
            let store = try await remote.identity().store
            await remote.disconnect()
            return store
        }
    }
}

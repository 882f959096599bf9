import SyncReplica

/// A remote that a replica uses, whatever its kind.
package struct RemoteConnection: Sendable {
    /// Which way an exchange goes.
    package enum Direction: String, Sendable {
        /// To the remote.
        case push
        /// From the remote.
        case pull
        /// From it, then to it.
        case sync
    }

    private let remote: any Remote

    /// Opens a remote, as the replica uses it. A connection is made at the first call.
    /// - Throws: `unreachable`, `refused`; `invalidArgument` for an address of an unknown kind.
    package init(
        _ entry: RemoteEntry, store: StoreID, replica: ReplicaID, ring: KeyRing
    ) throws {
        let address = try RemoteAddress(entry.url)
        switch address {
        case .directory(let path):
            let folder = try Self.folder(path, entry, store, replica)
            remote = EncryptedRemote(folder, ring: ring, isSealing: entry.isEncrypted)
        case .ssh:
            remote = try SSHRemote(address, store: store, options: Self.options(entry.options))
        case .hub: throw Self.noHub(entry.url)
        }
    }

    private static func folder(
        _ path: String, _ entry: RemoteEntry, _ store: StoreID, _ replica: ReplicaID
    ) throws -> DirectoryRemote {
        do {
            return try DirectoryRemote(path, store: store, replica: replica)
        } catch var error as SyncError where error.code == .refused {
            error.hint =
                "To join that store run: synctool remote remove DB \(entry.name) then "
                + "synctool remote add DB \(entry.name) \(entry.url) --join by-key"
            throw error
        }
    }

    /// Moves batches.
    /// - Parameter progress: gets what was moved so far, after each batch.
    /// - Throws: as ``Exchange``. What was moved until then stays.
    package func exchange(
        _ direction: Direction, _ replica: some Replica,
        progress: @escaping @Sendable (ExchangeReport) -> Void = { _ in }
    ) async throws -> ExchangeReport {
        try await Self.exchange(direction, replica, remote, progress)
    }

    private static func exchange(
        _ direction: Direction, _ replica: some Replica, _ remote: some Remote,
        _ progress: @escaping @Sendable (ExchangeReport) -> Void
    ) async throws -> ExchangeReport {
        let exchange = Exchange(replica, remote, progress: progress)
        switch direction {
        case .push: return try await exchange.push()
        case .pull: return try await exchange.pull()
        case .sync: return try await exchange.sync()
        }
    }

    /// What the replicas that use the remote have said to have merged.
    package func acknowledged() async throws -> [ReplicaID: VersionVector] {
        try await remote.acknowledged()
    }

    /// How far somebody who has merged nothing can come with what is there.
    package func head() async throws -> VersionVector { try await remote.head() }

    /// The batch that a new replica begins with: the one that leads furthest of those that are
    /// whole.
    /// - Throws: `notAllowed` when a key is missing; `refused` when there is none.
    package func snapshot() async throws -> (envelope: BatchEnvelope, bytes: [UInt8]) {
        var catalog = try await remote.catalog(since: VersionVector())
        while let item = catalog.path(since: VersionVector()).first {
            do {
                let bytes = try await remote.fetch(item)
                _ = try BatchDecoder.decode(bytes)
                return (item.envelope, bytes)
            } catch let error as SyncError where error.code == .badData {
                catalog = BatchCatalog(
                    catalog.items.filter { $0 != item }, problems: catalog.problems)
            }
        }
        if let key = catalog.problems.lazy.compactMap(\.missingKey).first {
            throw BatchSeal.missingKey(key)
        }
        throw SyncError(
            .refused, "there is nothing to begin with",
            hint: "Push to it from a replica first: synctool push DB")
    }

    /// Makes a copy of the store behind the remote, to look at: nobody hears of it, and it sends
    /// nothing.
    /// - Throws: as ``snapshot()``; `notAllowed` when a key is missing.
    package func copy(to path: String) async throws {
        let snapshot = try await snapshot()
        let replica = try StoreReplica.create(at: path, from: snapshot.bytes)
        defer { try? replica.close() }
        let report = try await Self.look(replica, remote)
        if let key = report.missingKey { throw BatchSeal.missingKey(key) }
    }

    private static func look(
        _ replica: StoreReplica, _ remote: some Remote
    ) async throws -> ExchangeReport {
        try await Exchange(replica, remote).look()
    }

    /// Ends the connection, where there is one.
    package func disconnect() async { await remote.disconnect() }

    /// The store at an address.
    /// - Throws: `unreachable`.
    package static func store(
        at address: RemoteAddress, options: RemoteEntry.Options
    ) async throws -> StoreID {
        switch address {
        case .directory(let path): return try DirectoryRemote.store(of: path)
        case .ssh:
            let remote = try SSHRemote(address, store: nil, options: Self.options(options))
            let store = try await remote.identity().store
            await remote.disconnect()
            return store
        case .hub: throw noHub(address.description)
        }
    }

    private static func options(_ chosen: RemoteEntry.Options) -> SSHOptions {
        var options = SSHOptions()
        if let synctool = chosen.synctool { options.synctool = synctool }
        return options
    }

    private static func noHub(_ url: String) -> SyncError {
        SyncError(
            .refused, "\(url) is a hub, and this version has no hubs yet",
            hint: "Take a folder (dir:/path) or another store (ssh://host/path/to.db)")
    }
}

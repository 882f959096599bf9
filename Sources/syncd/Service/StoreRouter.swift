import Glibc
import SyncClient
import SyncCore
import SyncStorage
import Varlink

/// Passes calls about the stores of other users on to the workers that serve them
/// (``OwnerWorkers``), and answers those about all stores with what the workers say.
///
/// A call reaches a worker only if its caller may read the store, as the file is now; the worker
/// checks it again against the file that it has open. Nothing here opens a database.
struct StoreRouter: Sendable {
    /// How long a call waits for a worker that is being started.
    private static let startMax = Duration.seconds(10)
    /// How long a question about the stores of all workers waits for one of them.
    private static let listMax = Duration.seconds(2)

    let service: StoreService
    let workers: OwnerWorkers
    private let ids = KnownIDs()

    private var registry: StoreRegistry { service.registry }
    private var pool: WorkPool { service.pool }

    /// - Parameter service: answers for the stores of this process.
    init(service: StoreService, workers: OwnerWorkers) {
        self.service = service
        self.workers = workers
    }

    /// - Returns: whether it answers the call; if not, this process does.
    /// - Throws: ``SyncError``: `unreachable` when there is no worker now; what a worker answers.
    func take(_ call: IncomingCall, _ stream: ReplyStream) async throws -> Bool {
        switch call.method {
        case StoreInterface.method("List"): return try await list(call, stream)
        case StoreInterface.method("Configuration"): return false
        case StoreInterface.method("Overview"):
            if workers.isEmpty { return false }
            stream.finish(try await overview(for: call.peer).jsonObject)
            return true
        case StoreInterface.method("Track"): return try await track(call, stream)
        case StoreInterface.method("Untrack"): return try await untrack(call, stream)
        case StoreInterface.method("Hold"), StoreInterface.method("Release"):
            let name = try Arguments(call).string("subscription")
            guard let owner = Subscriber.worker(inName: name),
                !workers.storesByOwner[owner, default: []].isEmpty
            else { return false }
            try await link(to: owner).relay(call, to: stream)
            return true
        default:
            guard let (owner, _) = try await find(call) else { return false }
            try await link(to: owner).relay(call, to: stream)
            return true
        }
    }

    // MARK: Which worker

    private func link(to owner: UInt32) async throws -> WorkerLink {
        guard let worker = workers.worker(of: owner) else {
            throw SyncError(
                .busy, "there are \(OwnerWorkers.workersMax) worker processes already",
                hint: "Run a daemon of your own: syncd --user")
        }
        return try await worker.link(within: Self.startMax)
    }

    /// The worker that has the store that a call names; nil: none, or the caller may not know.
    private func find(_ call: IncomingCall) async throws -> (owner: UInt32, path: String)? {
        if workers.isEmpty { return nil }
        let name = Arguments(call).store
        if let id = StoreID(name) { return try await locate(id, for: call.peer) }
        return try await pool.run(for: call.peer.uid) { [workers] in
            guard let path = CallerPath.resolved(name, for: call.peer),
                let owner = workers.owner(of: path), Self.isKnown(path, of: owner, to: call.peer)
            else { return nil }
            return (owner, path)
        }
    }

    /// As ``StoreRegistry/permitted(_:for:need:)``, without what is open.
    ///
    /// - Parameter owner: the last known one of the file.
    private static func isKnown(
        _ path: String, of owner: UInt32, to peer: PeerIdentity
    ) -> Bool {
        FilePermission.allows(.read, at: path, peer: peer)
            || [0, geteuid(), owner].contains(peer.uid) && FileIdentity(path: path) == nil
            || PathBarrier(before: path)?.isTold(to: peer.uid, owner: owner) == true
    }

    /// The store of this id that a worker has open and the caller may read.
    private func locate(
        _ id: StoreID, for peer: PeerIdentity
    ) async throws -> (owner: UInt32, path: String)? {
        let isHere = try await pool.run(for: peer.uid) {
            (try? registry.store("\(id)", for: peer, need: .read)) != nil
        }
        if isHere { return nil }
        if let known = try await known(id, for: peer) { return known }
        // The caller's own first: what others do with theirs does not delay it.
        let owners = workers.storesByOwner.keys
        if owners.contains(peer.uid) {
            await learn(from: peer.uid)
            if let known = try await known(id, for: peer) { return known }
        }
        await withTaskGroup(of: Void.self) { group in
            for owner in owners where owner != peer.uid {
                group.addTask { await learn(from: owner) }
            }
        }
        return try await known(id, for: peer)
    }

    private func known(
        _ id: StoreID, for peer: PeerIdentity
    ) async throws -> (owner: UInt32, path: String)? {
        let paths = ids.paths(of: id)
        if paths.isEmpty { return nil }
        return try await pool.run(for: peer.uid) { [workers] in
            for path in paths {
                guard let owner = workers.owner(of: path), Self.isKnown(path, of: owner, to: peer)
                else { continue }
                return (owner, path)
            }
            return nil
        }
    }

    /// Takes the ids of all stores that a worker has open.
    private func learn(from owner: UInt32) async {
        // As root, who may see all of them: nothing of it is told to a caller.
        let root = PeerIdentity(pid: 0, uid: 0, gid: 0, groups: [])
        let answer = try? await workers.worker(of: owner)?.link(within: Self.listMax).call(
            StoreInterface.method("List"), with: [:], for: root, within: Self.listMax)
        for store in answer?["stores"]?.array ?? [] {
            guard let path = store.object?["path"]?.string,
                let id = store.object?["id"]?.string.flatMap(StoreID.init)
            else { continue }
            ids.note(id, at: path)
        }
    }

    // MARK: Calls about all stores, and about which there are

    private func list(_ call: IncomingCall, _ stream: ReplyStream) async throws -> Bool {
        if workers.isEmpty { return false }
        var stores = try await pool.run(for: call.peer.uid) {
            registry.visible(to: call.peer).map { $0.summary().jsonObject }
        }
        let foreign = await withTaskGroup(of: [JSONObject].self) { group in
            for (owner, paths) in workers.storesByOwner {
                group.addTask { await summaries(of: paths, owner: owner, for: call) }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        stores += foreign
        stores.sort { $0["path"]?.string ?? "" < $1["path"]?.string ?? "" }
        stream.finish(["stores": .array(stores.map(JSONValue.object))])
        return true
    }

    /// What a worker says of its stores, or why it says nothing.
    private func summaries(
        of paths: [String], owner: UInt32, for call: IncomingCall
    ) async -> [JSONObject] {
        do {
            guard let worker = workers.worker(of: owner) else { return [] }
            let visible = try await pool.run(for: call.peer.uid) {
                paths.filter { Self.isKnown($0, of: owner, to: call.peer) }
            }
            if visible.isEmpty { return [] }
            do {
                let answer = try await worker.link(within: Self.listMax).call(
                    call.method, with: call.parameters, for: call.peer, within: Self.listMax)
                return (answer["stores"]?.array ?? []).compactMap(\.object)
            } catch {
                let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
                return visible.map { path in
                    StoreSummary(
                        path: path, state: .failed, id: nil, replica: nil, head: nil,
                        subscribers: 0, error: error
                    ).jsonObject
                }
            }
        } catch {
            return []
        }
    }

    /// How the daemon, its workers and all stores that the caller may see are doing.
    ///
    /// - Throws: ``SyncError`` when the daemon stops.
    func overview(for peer: PeerIdentity) async throws -> DaemonOverview {
        var whole = try await service.overview(for: peer)
        whole.process.workers = Int64(workers.runningCount)
        let parts = await withTaskGroup(of: DaemonOverview?.self) { group in
            for (owner, paths) in workers.storesByOwner {
                group.addTask { await overview(of: paths, owner: owner, for: peer) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for part in parts.compactMap(\.self) {
            whole.stores += part.stores
            whole.process.memoryBytes += part.process.memoryBytes
        }
        whole.stores.sort { $0.store.path.precedesInBytes($1.store.path) }
        return whole
    }

    /// What a worker says of its stores; if it says nothing, why, for those that the caller may
    /// see.
    private func overview(
        of paths: [String], owner: UInt32, for peer: PeerIdentity
    ) async -> DaemonOverview? {
        guard let worker = workers.worker(of: owner) else { return nil }
        do {
            return try DaemonOverview(
                try await worker.link(within: Self.listMax).call(
                    StoreInterface.method("Overview"), with: [:], for: peer, within: Self.listMax))
        } catch {
            let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
            let visible = try? await pool.run(for: peer.uid) {
                paths.filter { Self.isKnown($0, of: owner, to: peer) }
            }
            return DaemonOverview(
                process: DaemonMeters().process,
                stores: (visible ?? []).map { path in
                    StoreOverview(
                        store: StoreSummary(
                            path: path, state: .failed, id: nil, replica: nil, head: nil,
                            subscribers: 0, error: error), databaseBytes: 0, walBytes: 0)
                })
        }
    }

    private func track(_ call: IncomingCall, _ stream: ReplyStream) async throws -> Bool {
        let name = try Arguments(call).string("path")
        let found = try await pool.run(for: call.peer.uid) { () -> (path: String, owner: UInt32)? in
            guard name.hasPrefix("/"), let path = CallerPath.resolved(name, for: call.peer),
                let owner = FileOwnership.owner(of: path),
                owner != geteuid(), FilePermission.allows(.write, at: path, peer: call.peer)
            else { return nil }
            return (path, owner)
        }
        // A call that is refused is refused here.
        guard let (path, owner) = found else { return false }
        let isNew = workers.take(path, owner: owner)
        do {
            let answer = try await link(to: owner).call(
                call.method, with: call.parameters, for: call.peer)
            try await uncancelled(for: call.peer) { try registry.remember(path) }
            workers.update()
            stream.finish(answer)
        } catch {
            if isNew { workers.release(path) }
            throw error
        }
        return true
    }

    private func untrack(_ call: IncomingCall, _ stream: ReplyStream) async throws -> Bool {
        guard let (owner, path) = try await find(call) else { return false }
        let answer = try await link(to: owner).call(
            call.method, with: call.parameters, for: call.peer)
        try await uncancelled(for: call.peer) { try registry.forget(path) }
        workers.release(path)
        stream.finish(answer)
        return true
    }

    /// Runs `body` on a thread of the caller's share, also when the caller is gone: the worker has
    /// done its part.
    private func uncancelled(
        for peer: PeerIdentity, _ body: @escaping @Sendable () throws -> Void
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            pool.submit(for: peer.uid) { _ in continuation.resume(with: Result(catching: body)) }
        }
    }
}

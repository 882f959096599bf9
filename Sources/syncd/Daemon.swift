import Glibc
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import SyncClient
import SyncCore
import UnixSignals
import Varlink

/// The daemon from start to stop: the threads it has, the order in which its parts come up and go
/// down.
///
/// Up: stores opened, then the socket (so that whoever gets a connection finds its store), then
/// READY. Down: no new calls, then the stores written and closed. Threads: one that watches all
/// stores (``StoreWatcher``), one event loop for all clients, and a pool for what waits for SQLite.
struct Daemon: Sendable {
    /// SQLite's work: opening, queries, catch-ups, digests. More threads than cores, because they
    /// wait.
    private static let poolThreads = 4
    /// How often stores that could not be opened are tried again.
    private static let retryInterval: TimeAmount = .seconds(1)
    /// Between two looks for history that has become too old or too much.
    private static let purgeInterval: TimeAmount = .minutes(10)
    /// How often stores that nobody asks give back what they hold.
    private static let restInterval: TimeAmount = .seconds(10)

    let configuration: Configuration
    /// Reads the configuration again.
    let readAgain: @Sendable () throws -> Configuration
    let log: Logger

    /// Runs until a signal ends it.
    ///
    /// - Throws: ``ConfigurationFault``, ``SyncError`` when it cannot start.
    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let pool = NIOThreadPool(numberOfThreads: Self.poolThreads)
        pool.start()
        let watcher = try StoreWatcher()
        let loop = group.next()
        let replicator = Replicator(configuration.replication, log: log)
        let registry = StoreRegistry(
            StoreHub.Environment(
                watcher: watcher, pool: pool, loop: loop, log: log,
                stateDirectory: configuration.stateDirectory, replication: replicator.inbox),
            try RememberedStores(directory: configuration.stateDirectory))
        try await pool.runIfActive { [configuration] in registry.load(configuration) }
        let server = try makeServer(registry, replicator, pool, group)
        try await listen(server)
        ServiceManager.ready(status: Self.status(registry, server).line)
        log.info("ready, \(Self.status(registry, server).line)")
        let timers = startTimers(loop, pool, watcher, registry, server)
        try await serve(registry, replicator, pool, server)
        for timer in timers { timer.cancel() }
        ServiceManager.stopping()
        await server.stop()
        try await pool.runIfActive { registry.stop() }
        watcher.stop()
        try await pool.shutdownGracefully()
        try await group.shutdownGracefully()
        log.info("stopped")
    }

    private func makeServer(
        _ registry: StoreRegistry, _ replicator: Replicator, _ pool: NIOThreadPool,
        _ group: any EventLoopGroup
    ) throws -> VarlinkServer {
        var limits = ServerLimits()
        limits.connectionsMax = configuration.connectionsMax
        limits.queuedBytesMax = configuration.queuedBytesMax
        let log = log
        return try VarlinkServer(
            info: ServiceInfo(
                vendor: "syncd", product: "syncd", version: SyncdVersion.current,
                url: "https://github.com/syncd/syncd"),
            interfaces: [
                StoreService(registry: registry, replicator: replicator, pool: pool).interface()
            ], limits: limits,
            group: group, mapError: StoreService.mapError
        ) { event in
            switch event {
            case .connectionRefused(let peer, let reason):
                log.warning("refused a client: \(reason)", metadata: ["pid": "\(peer.pid)"])
            case .connectionDropped(let peer, let reason):
                log.notice("dropped a client: \(reason)", metadata: ["pid": "\(peer.pid)"])
            }
        }
    }

    /// On the sockets that were passed in, else on one of our own.
    private func listen(_ server: VarlinkServer) async throws {
        let passed = ServiceManager.takeSockets()
        let usable = passed.filter { $0.name == "varlink" || passed.count == 1 }
        for socket in passed where !usable.contains(where: { $0.descriptor == socket.descriptor }) {
            log.warning("the socket '\(socket.name)' is not known here")
            close(socket.descriptor)
        }
        for socket in usable { try await server.listen(onInherited: socket.descriptor) }
        if !usable.isEmpty { return }
        do {
            let address = try VarlinkAddress(configuration.socket)
            try makeDirectory(of: configuration.socket)
            try await server.listen(at: address, mode: configuration.socketMode)
            log.info("listening", metadata: ["socket": .string(configuration.socket)])
        } catch let error as TransportError {
            throw StartFailure(error, configuration.socket)
        }
    }

    private func makeDirectory(of socket: String) throws {
        guard let slash = socket.lastIndex(of: "/"), slash != socket.startIndex else { return }
        let directory = String(socket[..<slash])
        // Whose socket it is decides who may come in; a user's own folder is nobody else's
        // business.
        let mode: mode_t = configuration.socketMode & 0o077 == 0 ? 0o700 : 0o755
        if mkdir(directory, mode) != 0, errno != EEXIST, errno != ENOENT {
            throw StartFailure(
                exitStatus: 77,
                "\(directory): cannot be made: \(String(cString: strerror(errno)))")
        }
    }

    // MARK: Running

    private func serve(
        _ registry: StoreRegistry, _ replicator: Replicator, _ pool: NIOThreadPool,
        _ server: VarlinkServer
    ) async throws {
        let reloading = ReloadService { await reload(registry, replicator, pool, server) }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: reloading),
                    .init(service: ReplicationService(replicator: replicator)),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger.silent))
        try await group.run()
    }

    /// A configuration that is wrong changes nothing.
    private func reload(
        _ registry: StoreRegistry, _ replicator: Replicator, _ pool: NIOThreadPool,
        _ server: VarlinkServer
    ) async {
        ServiceManager.reloading()
        do {
            let configuration = try readAgain()
            try await pool.runIfActive {
                registry.load(configuration)
                registry.retry()
            }
            await replicator.adopt(configuration.replication)
            log.info("read the configuration again")
        } catch {
            log.error("the configuration stays as it was: \(error)")
        }
        ServiceManager.ready(status: Self.status(registry, server).line)
    }

    private func startTimers(
        _ loop: any EventLoop, _ pool: NIOThreadPool, _ watcher: StoreWatcher,
        _ registry: StoreRegistry, _ server: VarlinkServer
    ) -> [RepeatedTask] {
        var timers: [RepeatedTask] = []
        if let interval = ServiceManager.watchdogInterval() {
            // From the event loop by way of the watch thread: a ping says that both are alive.
            let half = TimeAmount(interval / 2)
            timers.append(
                loop.scheduleRepeatedTask(initialDelay: .zero, delay: half) { _ in
                    watcher.perform { ServiceManager.pingWatchdog() }
                })
        }
        let told = LastStatus()
        timers.append(
            loop.scheduleRepeatedTask(
                initialDelay: Self.retryInterval, delay: Self.retryInterval
            ) { _ in
                let (status, isWhole) = Self.status(registry, server)
                if !isWhole { pool.submit { if $0 == .active { registry.retry() } } }
                if told.isNew(status) { ServiceManager.status(status) }
            })
        timers.append(
            loop.scheduleRepeatedTask(
                initialDelay: Self.retryInterval, delay: Self.purgeInterval
            ) { _ in
                pool.submit { if $0 == .active { registry.purge() } }
            })
        timers.append(
            loop.scheduleRepeatedTask(initialDelay: Self.restInterval, delay: Self.restInterval) {
                _ in pool.submit { if $0 == .active { registry.rest() } }
            })
        return timers
    }

    /// A line for people, and whether all stores are open.
    private static func status(
        _ registry: StoreRegistry, _ server: VarlinkServer
    ) -> (line: String, isWhole: Bool) {
        let hubs = registry.hubs
        let closed = hubs.count { !$0.isOpen }
        let count = server.connectionCount
        let line =
            "\(hubs.count) stores" + (closed > 0 ? " (\(closed) not open)" : "")
            + ", \(count) clients"
        return (line, closed == 0)
    }
}

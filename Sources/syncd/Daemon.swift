import Glibc
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import SyncClient
import SyncCore
import SyncStorage
import UnixSignals
import Varlink

/// The daemon from start to stop: the threads it has, the order in which its parts come up and go
/// down.
///
/// Up: stores opened, then the socket (so that every client that can connect finds its store), then
/// READY, then the stores that clients of other users had tracked (``StoreRegistry/load(_:)``).
/// Down: no new calls, then the stores written and closed.
///
/// Five mechanisms of concurrency, each for one reason:
/// - the watch threads (``StoreWatchers``), one for each owner of stores: a thread waits for all of
///   them in one `poll()`, and takes a commit to the sockets of its subscribers without a change of
///   thread; a queue or an actor in between costs more than all the rest of the way;
/// - the NIO event loop: the sockets of all clients, and timers; nothing on it blocks;
/// - the pool (``WorkPool``), with a share for each user: everything that waits for SQLite. Swift's
///   own threads must not: there are as many as cores, and a few stores whose write lock is taken
///   would stop them all;
/// - mutexes (``HubState``, ``StoreRegistry``, ``ReplicationQueue``, …): state that the three above
///   share. An actor would make the watch thread wait for a hop;
/// - actor ``Replicator`` with its tasks: exchanges are sequences of waits over networks, which are
///   cancelled together at the stop. What blocks in them runs on a ``BlockingExecutor``, and remote
///   folders are watched on a dispatch queue (``FolderWatch``), because it needs no thread of its
///   own.
struct Daemon: Sendable {
    /// How often stores that could not be opened are tried again.
    private static let retryInterval: TimeAmount = .seconds(1)

    /// How long a stop waits for calls that are under way.
    private static let answerMax = Duration.seconds(1)

    let configuration: Configuration
    /// Reads the configuration again.
    let reread: @Sendable () throws -> Configuration
    let log: Logger

    /// What runs from start to stop.
    private struct Parts: Sendable {
        let group: MultiThreadedEventLoopGroup
        /// For what passes between workers and clients.
        let passing: MultiThreadedEventLoopGroup
        let pool: WorkPool
        let watchers: StoreWatchers
        let replicator: Replicator
        let registry: StoreRegistry
        let workers: OwnerWorkers?
        let server: VarlinkServer
        let metrics: MetricsServer
        let running: RunningConfiguration
        let meters: DaemonMeters
        let stateLock: StateLock
    }

    /// Runs until a signal ends it.
    ///
    /// - Throws: ``ConfigurationFault``, ``StartFailure``, ``SyncError`` when it cannot start.
    func run() async throws {
        let reload = await UnixSignalsSequence(trapping: .sighup)
        let parts = try await startParts()
        let signals = DaemonSignals(
            stop: await UnixSignalsSequence(trapping: .sigterm, .sigint), reload: reload)
        try await listen(parts.server, metrics: parts.metrics)
        let line = Self.status(of: parts).line
        ServiceManager.ready(status: line)
        log.info("ready, \(line)")
        logOversights(of: configuration)
        let timers = startTimers(for: parts)
        parts.registry.retry()
        try await serve(parts, until: signals)
        for timer in timers { timer.cancel() }
        ServiceManager.stopping()
        await parts.server.stop(answeringFor: Self.answerMax)
        await parts.metrics.stop()
        await parts.workers?.stop()
        try await parts.pool.run(for: geteuid()) { parts.registry.stop() }
        parts.pool.stop()
        parts.watchers.stop()
        try await parts.group.shutdownGracefully()
        if parts.passing !== parts.group { try await parts.passing.shutdownGracefully() }
        withExtendedLifetime(signals) { log.info("stopped") }
    }

    private func startParts() async throws -> Parts {
        // With workers, a second loop for what passes between them and clients.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let passing =
            configuration.workers.isEnabled
            ? MultiThreadedEventLoopGroup(numberOfThreads: 1) : group
        let pool = WorkPool()
        let watchers = try StoreWatchers()
        let remembered = try RememberedStores(directory: configuration.stateDirectory)
        let stateLock = try StateLock(ofDaemonIn: configuration.stateDirectory)
        let marks = CrashMarks(directory: configuration.stateDirectory, log: log)
        let replicator = Replicator(configuration, marks: marks, log: log)
        let workers = makeWorkers(on: passing.next(), pool: pool)
        let registry = StoreRegistry(
            StoreHub.Environment(
                watchers: watchers, pool: pool, loop: group.next(), log: log,
                stateDirectory: configuration.stateDirectory, replication: replicator.queue,
                marks: marks, served: workers == nil ? nil : geteuid()),
            remembered: remembered, workers: workers)
        try await pool.run(for: geteuid()) { [configuration] in registry.load(configuration) }
        let meters = DaemonMeters()
        let running = RunningConfiguration()
        running.adopt(configuration)
        let service = StoreService(
            registry: registry, replicator: replicator, pool: pool, meters: meters,
            configuration: running)
        var interface = try service.interface()
        var overview: @Sendable (PeerIdentity) async throws -> DaemonOverview = service.overview
        if let workers {
            let router = StoreRouter(service: service, workers: workers)
            interface = interface.relaying(through: router.take)
            overview = router.overview
        }
        let server = try makeServer(of: interface, group: group, meters: meters)
        meters.count(connectionsOf: server)
        return Parts(
            group: group, passing: passing, pool: pool, watchers: watchers,
            replicator: replicator, registry: registry, workers: workers,
            server: server,
            metrics: MetricsServer(
                MetricsSource(configuration.metrics.stores, overview: overview), on: group),
            running: running, meters: meters, stateLock: stateLock)
    }

    /// Those for the stores of other users; nil where this process serves all.
    private func makeWorkers(on loop: any EventLoop, pool: WorkPool) -> OwnerWorkers? {
        guard configuration.workers.isEnabled else { return nil }
        DatabaseOpener.openFiles(ofOwner: geteuid())
        return OwnerWorkers(
            configuration,
            environment: .init(program: OwnerWorkers.ownProgram, loop: loop, log: log), pool: pool)
    }

    private func makeServer(
        of interface: ServedInterface, group: any EventLoopGroup, meters: DaemonMeters
    ) throws -> VarlinkServer {
        var limits = ServerLimits()
        limits.connectionsMax = configuration.connectionsMax
        limits.queuedBytesMax = configuration.queuedBytesMax
        let log = log
        return try VarlinkServer(
            info: ServiceInfo(
                vendor: "syncd", product: "syncd", version: SyncdVersion.current,
                url: "https://github.com/syncd/syncd"),
            interfaces: [interface], limits: limits,
            group: group, mapError: StoreService.mapError
        ) { event in
            switch event {
            case .connectionRefused(let peer, let reason):
                meters.noteRefused()
                log.warning("refused a client: \(reason)", metadata: ["pid": "\(peer.pid)"])
            case .connectionDropped(let peer, let reason):
                meters.noteDropped()
                log.notice("dropped a client: \(reason)", metadata: ["pid": "\(peer.pid)"])
            }
        }
    }

    /// On the sockets that were passed in, else on the configured one.
    private func listen(_ server: VarlinkServer, metrics: MetricsServer) async throws {
        let passed = ServiceManager.takeSockets()
        let others = passed.filter { $0.name != "metrics" }
        let usable = others.filter { $0.name == "varlink" || others.count == 1 }
        for socket in others where !usable.contains(where: { $0.descriptor == socket.descriptor }) {
            log.warning(
                "ignored the passed socket '\(socket.name)': known are 'varlink' and 'metrics'")
            close(socket.descriptor)
        }
        for socket in passed where socket.name == "metrics" {
            try await metrics.listen(onInherited: socket.descriptor)
        }
        try await metrics.listen(configuration.metrics, mode: configuration.socketMode)
        for socket in usable { try await server.listen(onInherited: socket.descriptor) }
        if !usable.isEmpty { return }
        do {
            let address = try VarlinkAddress(configuration.socket)
            try makeDirectory(of: configuration.socket)
            try await server.listen(at: address, mode: configuration.socketMode)
            log.info("listening", metadata: ["socket": .string(configuration.socket)])
        } catch let error as TransportError {
            throw StartFailure(error, at: configuration.socket)
        }
    }

    private func makeDirectory(of socket: String) throws {
        guard let slash = socket.lastIndex(of: "/"), slash != socket.startIndex else { return }
        let directory = String(socket[..<slash])
        // The mode of the socket restricts access; only a user's own directory is private.
        let mode: mode_t = configuration.socketMode & 0o077 == 0 ? 0o700 : 0o755
        if mkdir(directory, mode) != 0, errno != EEXIST, errno != ENOENT {
            throw StartFailure(
                exitStatus: 77,
                "\(directory): cannot be created: \(String(cString: strerror(errno)))")
        }
    }

    // MARK: Running

    private func serve(_ parts: Parts, until signals: DaemonSignals) async throws {
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(
                service: StopService(signals: signals.stop),
                successTerminationBehavior: .gracefullyShutdownGroup),
            .init(service: ReloadService(signals: signals.reload) { await reload(parts) }),
            .init(service: ReplicationService(replicator: parts.replicator)),
            .init(service: StopLimit(log: log)),
        ]
        if let workers = parts.workers {
            let registry = parts.registry
            services.append(
                .init(service: WorkerService(workers: workers) { registry.reassign($0) }))
        }
        let group = ServiceGroup(
            configuration: .init(services: services, logger: Logger.silent))
        try await group.run()
    }

    /// A configuration with errors changes nothing.
    private func reload(_ parts: Parts) async {
        ServiceManager.reloading()
        do {
            let configuration = try reread()
            try await parts.pool.run(for: geteuid()) {
                parts.registry.load(configuration, retries: true)
                parts.registry.retryNow()
            }
            await parts.replicator.adopt(configuration)
            let waiting = parts.running.adopt(configuration)
            parts.meters.noteReload(failure: nil)
            log.info("reloaded the configuration")
            logOversights(of: configuration)
            if !waiting.isEmpty {
                log.warning(
                    "changed, and in effect after a restart: \(waiting.joined(separator: ", "))")
            }
        } catch {
            parts.meters.noteReload(failure: "\(error)")
            log.error("reload failed, keeping the running configuration: \(error)")
        }
        ServiceManager.ready(status: Self.status(of: parts).line)
    }

    private func logOversights(of configuration: Configuration) {
        for oversight in configuration.oversights { log.warning("\(oversight)") }
    }

    private func startTimers(for parts: Parts) -> [RepeatedTask] {
        let (loop, registry) = (parts.group.next(), parts.registry)
        let sent = LastStatus()
        let status = loop.scheduleRepeatedTask(
            initialDelay: Self.retryInterval, delay: Self.retryInterval
        ) { _ in
            parts.pool.submit(for: geteuid()) { isActive in
                guard isActive else { return }
                registry.reassignOwn()
                let (line, isWhole) = Self.status(of: parts)
                if !isWhole { registry.retry() }
                if sent.isNew(line) { ServiceManager.status(line) }
            }
        }
        let chores = StoreTimers(registry: registry, pool: parts.pool, loop: loop)
            .start(comparingEvery: configuration.compareInterval)
        return [status] + chores + [startWatchdog(for: parts)].compactMap(\.self)
    }

    private func startWatchdog(for parts: Parts) -> RepeatedTask? {
        guard let interval = ServiceManager.watchdogInterval() else { return nil }
        let half = TimeAmount(interval / 2)
        return parts.group.next().scheduleRepeatedTask(initialDelay: .zero, delay: half) { _ in
            // From the event loop by way of the watch thread: a ping shows that both are alive.
            parts.watchers.own.perform { ServiceManager.pingWatchdog() }
        }
    }

    /// A line for people, and whether all stores are open.
    private static func status(of parts: Parts) -> (line: String, isWhole: Bool) {
        let hubs = parts.registry.hubs
        let closedHere = hubs.count { !$0.isOpen }
        let elsewhere = parts.workers?.condition ?? .init()
        let (stores, closed) = (hubs.count + elsewhere.stores, closedHere + elsewhere.closed)
        let count = parts.server.connectionCount
        let workers = parts.workers?.runningCount ?? 0
        let line =
            (stores == 1 ? "1 store" : "\(stores) stores")
            + (closed > 0 ? ", \(closed) unavailable" : "")
            + (count == 1 ? ", 1 client" : ", \(count) clients")
            + (workers > 0 ? (workers == 1 ? ", 1 worker" : ", \(workers) workers") : "")
        return (line, closedHere == 0)
    }
}

import CLinux
import Foundation
import Logging
import NIOCore
import NIOPosix
import SyncClient
import SyncCore
import SyncStorage
import Synchronization
import Varlink

/// A worker: the process that serves the stores of one owner, for the daemon that has started it.
///
/// It is a daemon without a socket of its own: the daemon hands it the connections of clients whose
/// calls are about its stores, with who they are, and tells it over another socket which stores it
/// serves. Everything else is as in ``Daemon``: registry, watch thread, digest, exchanges with
/// remotes. What a store does to the process that works on it, it does to this one.
///
/// It ends with the daemon: when the daemon's end of either socket is closed, whatever closed it.
struct Worker: Sendable {
    /// How long it waits for the worker before it to end.
    private static let lockMax = Duration.seconds(10)
    /// The daemon limits connections; those that it has closed may be open here for a moment.
    private static let connectionsMax = 65_536

    let settings: WorkerSettings
    let log: Logger

    private struct Parts: Sendable {
        let pool: WorkPool
        let watchers: StoreWatchers
        let replicator: Replicator
        let registry: StoreRegistry
        let server: VarlinkServer
    }

    /// Serves until the daemon ends it; does not return.
    ///
    /// - Throws: ``StartFailure``, ``SyncError`` when it cannot start.
    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try FileManager.default.createDirectory(
            atPath: settings.directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o750])
        let lock = try StateLock(ofWorkerIn: settings.directory, waiting: Self.lockMax)
        defer { withExtendedLifetime(lock) {} }
        DatabaseOpener.openFiles(ofOwner: settings.owner)
        let parts = try makeParts(on: group)
        let replication = Task { await parts.replicator.run() }
        let timers = StoreTimers(registry: parts.registry, pool: parts.pool, loop: group.next())
            .start(comparingEvery: settings.configuration.compareInterval)
        try serveClients(parts.server)
        let control = try VarlinkServer(
            info: ServiceInfo(vendor: "syncd", product: "worker", version: "", url: ""),
            interfaces: [
                try interface(to: parts) {
                    for timer in timers { timer.cancel() }
                    replication.cancel()
                    await replication.value
                    await parts.server.stop()
                    try await parts.pool.run(for: geteuid()) { parts.registry.stop() }
                }
            ],
            group: group, mapError: StoreService.mapError)
        control.adopt(
            WorkerSettings.controlDescriptor,
            from: PeerIdentity(pid: getppid(), uid: geteuid(), gid: getegid(), groups: []))
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    private func makeParts(on group: any EventLoopGroup) throws -> Parts {
        let configuration = settings.configuration
        let pool = WorkPool()
        let watchers = try StoreWatchers(of: settings.owner)
        let marks = CrashMarks(directory: settings.directory, log: log)
        let replicator = Replicator(configuration, marks: marks, log: log)
        var environment = StoreHub.Environment(
            watchers: watchers, pool: pool, loop: group.next(), log: log,
            stateDirectory: configuration.stateDirectory, replication: replicator.queue,
            marks: marks, served: settings.owner)
        environment.onOpening = Self.fault
        let registry = StoreRegistry(environment, remembered: RememberedStores())
        var limits = ServerLimits()
        limits.connectionsMax = Self.connectionsMax
        limits.connectionsPerUserMax = Self.connectionsMax
        limits.queuedBytesMax = configuration.queuedBytesMax
        let service = StoreService(registry: registry, replicator: replicator, pool: pool)
        let server = try VarlinkServer(
            info: ServiceInfo(vendor: "syncd", product: "worker", version: "", url: ""),
            interfaces: [service.interface()], limits: limits, group: group,
            mapError: StoreService.mapError)
        return Parts(
            pool: pool, watchers: watchers, replicator: replicator, registry: registry,
            server: server)
    }

    /// Takes connections on a thread of its own, and ends the process with the daemon.
    private func serveClients(_ server: VarlinkServer) throws {
        let passing = DescriptorChannel(adopting: WorkerSettings.passingDescriptor)
        let thread = Thread {
            while let (descriptor, peer) = passing.receive() {
                server.adopt(descriptor, from: peer)
            }
            _exit(0)
        }
        thread.name = "connections"
        thread.start()
    }

    private func interface(
        to parts: Parts, onStop: @escaping @Sendable () async throws -> Void
    ) throws -> ServedInterface {
        var interface = try ServedInterface(WorkerInterface.description)
        let (registry, pool) = (parts.registry, parts.pool)
        interface.on("Serve") { call in
            let text = call.parameters["configuration"]?.string ?? ""
            let retries = call.parameters["retry"]?.bool ?? false
            let configuration = try JSONDecoder().decode(
                Configuration.self, from: Data(text.utf8))
            try await pool.run(for: geteuid()) {
                registry.load(configuration)
                if retries { registry.retryNow() }
            }
            await parts.replicator.adopt(configuration)
            return [:]
        }
        interface.on("Ping") { _ in
            // From the event loop by way of the watch thread: an answer shows that both are alive.
            await withCheckedContinuation { continuation in
                parts.watchers.own.perform { continuation.resume() }
            }
            let hubs = registry.hubs
            let closed = hubs.count { !$0.isOpen }
            if closed > 0 { pool.submit(for: geteuid()) { if $0 { registry.retry() } } }
            return ["stores": .integer(Int64(hubs.count)), "closed": .integer(Int64(closed))]
        }
        interface.on("Stop") { _ in
            try await onStop()
            return [:]
        }
        return interface
    }

    /// For tests, in a debug build: with `SYNCD_FAULT=trap:PATH` (or `hang`, `memory`) opening a
    /// store does what no store is known to do.
    private static var fault: (@Sendable (String) -> Void)? {
        #if DEBUG
            let fault = ProcessInfo.processInfo.environment["SYNCD_FAULT"] ?? ""
            guard let colon = fault.firstIndex(of: ":") else { return nil }
            let (kind, path) = (fault[..<colon], fault[colon...].dropFirst())
            return { opened in
                guard opened.hasBytes(of: String(path)) else { return }
                switch kind {
                case "trap": preconditionFailure("a fault of a test")
                case "hang": raise(SIGSTOP)
                case "memory":
                    var held: [[UInt8]] = []
                    while true { held.append([UInt8](repeating: 1, count: 8 << 20)) }
                default: break
                }
            }
        #else
            nil
        #endif
    }
}

import Glibc
import Logging
import SyncCore
import Synchronization

/// The stores of other users than the daemon's, and the workers that serve them: one for each
/// owner.
///
/// A store belongs to the worker of the user that owns its file; one whose file is gone, to that of
/// its last owner. Which file is at a path changes at any time: each process opens the files of its
/// owner alone (``DatabaseOpener/openFiles(ofOwner:)``), and a store whose file has another owner
/// is given to another process within some seconds (``StoreRegistry/reassign(_:)``).
///
/// Invariants, guarded by the mutex: each path in `stores` is served by the worker of its owner,
/// and by none else; no owner is the daemon's user; a worker is never removed; the list that a
/// worker is to serve is never older than one that it was given before.
final class OwnerWorkers: Sendable {
    /// More owners have no worker: a process takes some megabytes.
    static let workersMax = 256

    /// A store that a worker serves.
    struct Assigned: Sendable {
        var owner: UInt32
        var entry: Configuration.StoreEntry
    }

    private struct State {
        var stores: ExactMap<Assigned> = [:]
        var workers: [UInt32: OwnerWorker] = [:]
        var configuration: Configuration
        /// The owners whose files are being looked at.
        var looking: Set<UInt32> = []

        /// - Returns: whether another owner had it, or none.
        mutating func take(
            _ path: String, owner: UInt32, entry: Configuration.StoreEntry?
        ) -> Bool {
            let known = stores[path]
            stores[path] = Assigned(
                owner: owner,
                entry: entry ?? known?.entry ?? Configuration.StoreEntry(path: path))
            return known?.owner != owner
        }
    }

    private let environment: OwnerWorker.Environment
    private let pool: WorkPool
    private let state: Mutex<State>
    private let added: AsyncStream<OwnerWorker>
    private let addition: AsyncStream<OwnerWorker>.Continuation

    init(_ configuration: Configuration, environment: OwnerWorker.Environment, pool: WorkPool) {
        self.environment = environment
        self.pool = pool
        var options = configuration
        options.stores = []
        state = Mutex(State(configuration: options))
        (added, addition) = AsyncStream.makeStream()
    }

    /// The path of this program, for the processes that it starts: this very file, also after
    /// another version was put in its place.
    static var ownProgram: String {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        let path = String(
            decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return access(path, X_OK) == 0 ? path : "/proc/self/exe"
    }

    // MARK: Which store is whose

    /// Takes those of the wanted stores that belong to others, and gives them to their workers.
    ///
    /// - Parameters:
    ///   - wanted: by path, links resolved.
    ///   - retries: those are tried again that could not be opened.
    /// - Returns: the paths that it took.
    func adopt(
        _ wanted: ExactMap<Configuration.StoreEntry>, of configuration: Configuration,
        retries: Bool
    ) -> ExactSet {
        let known = state.withLock { $0.stores }
        var stores: ExactMap<Assigned> = [:]
        for (path, entry) in wanted {
            // One that was never seen is the daemon's until a file is there.
            let owner = FileOwnership.owner(of: path) ?? known[path]?.owner ?? geteuid()
            if owner != geteuid() { stores[path] = Assigned(owner: owner, entry: entry) }
        }
        state.withLock { state in
            state.configuration = configuration
            state.configuration.stores = []
            state.stores = stores
            update(&state, retries: retries)
        }
        return ExactSet(stores.keys)
    }

    /// Whether workers serve any store.
    var isEmpty: Bool { state.withLock { $0.stores.isEmpty } }

    /// The owner of a store that a worker serves; nil for any other.
    func owner(of path: String) -> UInt32? { state.withLock { $0.stores[path]?.owner } }

    /// The stores that workers serve, by owner.
    var storesByOwner: [UInt32: [String]] {
        let stores = state.withLock { $0.stores }
        return Dictionary(grouping: stores.keys) { stores[$0]?.owner ?? 0 }
    }

    /// Takes a database that is to be tracked. The call that tracks it has its worker open it;
    /// ``update()`` has it served.
    ///
    /// - Returns: whether it was not taken before.
    func take(_ path: String, owner: UInt32) -> Bool {
        state.withLock { $0.take(path, owner: owner, entry: nil) }
    }

    /// Has a store served by the worker of an owner. Who asks for it from now on waits until it is:
    /// the worker's list is another one in the same moment.
    func give(_ path: String, to owner: UInt32, entry: Configuration.StoreEntry? = nil) {
        state.withLock { state in
            _ = state.take(path, owner: owner, entry: entry)
            update(&state)
        }
    }

    /// Has a store served by no worker any more.
    ///
    /// - Returns: what it was; nil when none served it.
    @discardableResult
    func release(_ path: String) -> Assigned? {
        state.withLock { state in
            defer { update(&state) }
            return state.stores.removeValue(forKey: path)
        }
    }

    /// Gives each worker the list of its stores.
    func update() { state.withLock { update(&$0) } }

    /// As ``update()``, while the state is held: of two at the same time the older list must not
    /// come last.
    private func update(_ state: inout State, retries: Bool = false) {
        var lists: [UInt32: [Configuration.StoreEntry]] = state.workers.mapValues { _ in [] }
        for (path, store) in state.stores {
            var entry = store.entry
            entry.path = path
            lists[store.owner, default: []].append(entry)
        }
        for (owner, entries) in lists {
            guard let worker = worker(of: owner, in: &state) else {
                environment.log.error(
                    "no worker for the stores of a user: there are \(Self.workersMax) already",
                    metadata: ["owner": "\(owner)"])
                continue
            }
            var own = state.configuration
            own.stores = entries.sorted { $0.path.precedesInBytes($1.path) }
            worker.serve(own, retries: retries)
        }
    }

    // MARK: Workers

    /// The worker of an owner; nil beyond ``workersMax``.
    func worker(of owner: UInt32) -> OwnerWorker? {
        state.withLock { worker(of: owner, in: &$0) }
    }

    private func worker(of owner: UInt32, in state: inout State) -> OwnerWorker? {
        if let known = state.workers[owner] { return known }
        guard state.workers.count < Self.workersMax else { return nil }
        let new = OwnerWorker(
            owner: owner, configuration: state.configuration, environment: environment)
        state.workers[owner] = new
        addition.yield(new)
        return new
    }

    /// All that there are, whether their processes run or not.
    var all: [OwnerWorker] { state.withLock { Array($0.workers.values) } }

    /// How many processes run.
    var runningCount: Int { all.count { $0.isRunning } }

    /// How all their stores are.
    var condition: WorkerLink.Condition {
        all.map(\.condition).reduce(into: .init()) { sum, one in
            sum.stores += one.stores
            sum.closed += one.closed
        }
    }

    private static let tickInterval = Duration.seconds(1)

    /// Looks after the processes until its task is cancelled.
    ///
    /// - Parameter onMove: called on the pool with stores whose files have another owner now.
    func run(onMove: @escaping @Sendable (ExactMap<UInt32>) -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.tickInterval)
                    for worker in all { await worker.tick() }
                    findMoved(onMove)
                }
            }
            for await worker in added { group.addTask { await worker.run() } }
            group.cancelAll()
        }
    }

    /// On a thread of each owner's share: a file system that does not answer keeps its owner's.
    private func findMoved(_ onMove: @escaping @Sendable (ExactMap<UInt32>) -> Void) {
        for (owner, paths) in storesByOwner {
            guard state.withLock({ $0.looking.insert(owner).inserted }) else { continue }
            pool.submit(for: owner) { [self] isActive in
                var moved: ExactMap<UInt32> = [:]
                for path in paths where isActive {
                    if let now = FileOwnership.owner(of: path), now != owner { moved[path] = now }
                }
                state.withLock { _ = $0.looking.remove(owner) }
                if !moved.isEmpty { onMove(moved) }
            }
        }
    }

    /// Ends all processes.
    func stop() async {
        await withTaskGroup(of: Void.self) { group in
            for worker in all { group.addTask { await worker.stop() } }
        }
    }
}

import Glibc
import NIOCore

/// What a process that serves stores does with all of them from time to time.
struct StoreTimers {
    /// How often history is purged that has become too old or too large.
    private static let purgeInterval: TimeAmount = .minutes(10)
    /// How often it looks for a store whose rows are to be compared; one store at a time.
    private static let compareInterval: TimeAmount = .minutes(1)
    /// How often idle stores free their memory.
    private static let unloadInterval: TimeAmount = .seconds(10)
    /// How often it looks for stores that are not in use any more.
    private static let restInterval: TimeAmount = .seconds(1)
    /// How often the process looks whether its heaps are to be trimmed.
    private static let trimInterval: TimeAmount = .seconds(10)

    let registry: StoreRegistry
    let pool: WorkPool
    let loop: any EventLoop

    /// Starts them.
    ///
    /// - Parameter interval: how often all rows of a store are compared; nil: never.
    func start(comparingEvery interval: Duration?) -> [RepeatedTask] {
        let comparing = interval.map { interval in
            let wait = min(Self.compareInterval, TimeAmount(interval))
            return begin(.compare(every: interval), after: wait, every: wait)
        }
        return [
            begin(.purge, after: Self.restInterval, every: Self.purgeInterval),
            begin(.unload, after: Self.unloadInterval, every: Self.unloadInterval),
            begin(.rest, after: Self.restInterval, every: Self.restInterval),
            beginTrimming(),
        ] + [comparing].compactMap(\.self)
    }

    private func begin(
        _ chore: StoreRegistry.Chore, after delay: TimeAmount, every interval: TimeAmount
    ) -> RepeatedTask {
        let (pool, registry) = (pool, registry)
        // Not on the event loop: it asks the file system for the owners.
        return loop.scheduleRepeatedTask(initialDelay: delay, delay: interval) { _ in
            pool.submit(for: geteuid()) { if $0 { registry.begin(chore) } }
        }
    }

    private func beginTrimming() -> RepeatedTask {
        let (pool, trim) = (pool, HeapTrim())
        return loop.scheduleRepeatedTask(
            initialDelay: Self.trimInterval, delay: Self.trimInterval
        ) { _ in
            pool.submit(for: geteuid()) { if $0 { trim.look() } }
        }
    }
}

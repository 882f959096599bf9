import Dispatch
import Glibc
import SyncCore
import SyncTesting
import Synchronization
import Testing

@testable import syncd

@Suite(.timeLimit(.minutes(2))) struct WorkPoolTests {
    @Test func aUserWhoKeepsThreadsDelaysNobody() async throws {
        let pool = WorkPool(own: 0)
        let gate = DispatchSemaphore(value: 0)
        let ended = Mutex(0)
        for _ in 0..<100 {
            pool.submit(for: 2001) { _ in
                gate.wait()
                ended.withLock { $0 += 1 }
            }
        }
        for user in [0, 2002, 2003] as [UInt32] {
            #expect(try await pool.run(for: user) { user } == user)
        }
        #expect(ended.withLock { $0 } == 0)
        for _ in 0..<100 { gate.signal() }
        try await eventually("all end") { ended.withLock { $0 } == 100 }
        pool.stop()
    }

    @Test func aCancelledCallIsNotRun() async throws {
        let pool = WorkPool(own: 0)
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<3 { pool.submit(for: 2001) { _ in gate.wait() } }
        let hasRun = Mutex(false)
        let call = Task { try await pool.run(for: 2001) { hasRun.withLock { $0 = true } } }
        try await Task.sleep(for: .milliseconds(50))
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        for _ in 0..<3 { gate.signal() }
        try await pool.run(for: 2001) {}
        #expect(!hasRun.withLock { $0 })
        pool.stop()
    }

    @Test func aStoppedPoolStartsNothing() async throws {
        let pool = WorkPool(own: 0)
        pool.stop()
        await #expect(throws: SyncError(.unreachable, "")) { try await pool.run(for: 0) {} }
        let state = Mutex<Bool?>(nil)
        pool.submit(for: 0) { isActive in state.withLock { $0 = isActive } }
        #expect(state.withLock { $0 } == false)
    }

    /// A file that takes long to read keeps the watch thread of its owner alone.
    @Test func eachOwnerHasAWatchThread() async throws {
        let watchers = try StoreWatchers()
        let (bob, alice) = (watchers.watcher(for: 2001), watchers.watcher(for: 2002))
        #expect(bob !== alice && bob !== watchers.own)
        #expect(
            watchers.watcher(for: 2001) === bob && watchers.watcher(for: geteuid()) === watchers.own
        )
        let gate = DispatchSemaphore(value: 0)
        bob.perform { gate.wait() }
        for watcher in [alice, watchers.own] {
            let isDone = Mutex(false)
            await withCheckedContinuation { continuation in
                watcher.perform {
                    isDone.withLock { $0 = true }
                    continuation.resume()
                }
            }
            #expect(isDone.withLock { $0 })
        }
        gate.signal()
        watchers.stop()
    }
}

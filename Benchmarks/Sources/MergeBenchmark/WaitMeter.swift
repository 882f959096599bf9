import Foundation
import Synchronization

/// A writer on a thread of its own that takes the time of each of its transactions.
final class WaitMeter: Sendable {
    private struct State {
        var isOver = false
        var longest = 0.0
        var count = 0
        var failure: (any Error)?
    }

    private let state = Mutex(State())
    private let done = DispatchSemaphore(value: 0)

    /// Begins.
    init(_ path: String) {
        Thread.detachNewThread { [self] in
            do {
                let peer = try Peer(path)
                while !state.withLock({ $0.isOver }) {
                    let start = ContinuousClock.now
                    try peer.note("meanwhile")
                    let seconds = (ContinuousClock.now - start) / .seconds(1)
                    state.withLock {
                        $0.longest = max($0.longest, seconds)
                        $0.count += 1
                    }
                    Thread.sleep(forTimeInterval: 0.002)
                }
            } catch {
                state.withLock { $0.failure = error }
            }
            done.signal()
        }
    }

    /// Ends.
    /// - Returns: the longest time in seconds, and how many transactions there were.
    func end() throws -> (longest: Double, count: Int) {
        state.withLock { $0.isOver = true }
        done.wait()
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            return (state.longest, state.count)
        }
    }
}

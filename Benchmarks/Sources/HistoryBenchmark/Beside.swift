import Foundation
import Synchronization

/// Set once, from another thread.
final class Flag: Sendable {
    private let state = Atomic(false)
    var isSet: Bool { state.load(ordering: .relaxed) }
    func set() { state.store(true, ordering: .relaxed) }
}

/// What a thread beside this one computes.
final class Beside<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    private let done = DispatchSemaphore(value: 0)

    fileprivate init(_ body: @escaping @Sendable () throws -> Value) {
        Thread.detachNewThread {
            let value = try? body()
            self.result.withLock { $0 = value }
            self.done.signal()
        }
    }

    /// Waits for it; it is there once.
    func wait() -> Value? {
        done.wait()
        return result.withLock { $0 }
    }
}

extension Thread {
    static func beside<Value>(_ body: @escaping @Sendable () throws -> Value) -> Beside<Value> {
        Beside(body)
    }
}

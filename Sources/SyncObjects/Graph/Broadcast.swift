import Foundation
import Synchronization

/// Sends elements to any number of listeners, each with its own buffer.
final class Broadcast<Element: Sendable>: Sendable {
    private let continuations = Mutex<[UUID: AsyncStream<Element>.Continuation]>([:])

    /// The most elements buffered for a listener; a slower one misses the oldest.
    private static var bufferMax: Int { 1024 }

    func stream() -> AsyncStream<Element> {
        let id = UUID()
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(Self.bufferMax))
        continuations.withLock { $0[id] = continuation }
        continuation.onTermination = { [weak self] _ in
            self?.continuations.withLock { _ = $0.removeValue(forKey: id) }
        }
        return stream
    }

    var hasListeners: Bool { continuations.withLock { !$0.isEmpty } }

    func send(_ element: Element) {
        let all = continuations.withLock { Array($0.values) }
        for continuation in all { continuation.yield(element) }
    }

    func finish() {
        let all = continuations.withLock { state in
            defer { state = [:] }
            return Array(state.values)
        }
        for continuation in all { continuation.finish() }
    }

    deinit { finish() }
}

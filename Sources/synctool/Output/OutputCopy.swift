import Synchronization

/// What a command wrote to its outputs, where a test runs it in its own process.
final class OutputCopy: Sendable {
    private let texts = Mutex<[Int32: String]>([:])

    /// Appends a piece.
    func add(_ text: String, of descriptor: Int32) {
        texts.withLock { $0[descriptor, default: ""] += text }
    }

    /// What was written to a descriptor.
    func text(of descriptor: Int32) -> String { texts.withLock { $0[descriptor] ?? "" } }
}

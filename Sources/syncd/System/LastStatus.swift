import Synchronization

/// The status line that was sent to the service manager last.
final class LastStatus: Sendable {
    private let text = Mutex("")

    /// Keeps `status`; false when it is the one that was sent last.
    func isNew(_ status: String) -> Bool {
        text.withLock { text in
            defer { text = status }
            return text != status
        }
    }
}

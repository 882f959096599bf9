import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Reads the configuration again at each SIGHUP, until the daemon stops.
struct ReloadService: Service {
    private let reload: @Sendable () async -> Void

    init(_ reload: @escaping @Sendable () async -> Void) { self.reload = reload }

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() { await reload() }
    }
}

extension Logger {
    /// For a library that would tell the operator about its own inner life.
    static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}

/// Remembers what the service manager was told last.
final class LastStatus: Sendable {
    private let text = Mutex("")

    func isNew(_ status: String) -> Bool {
        text.withLock { text in
            defer { text = status }
            return text != status
        }
    }
}

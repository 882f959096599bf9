import Glibc
import SyncMerge
import Synchronization

/// One line on the terminal that says how far an exchange is, from its second second on.
final class ProgressLine: Sendable {
    /// What ends sooner needs no word.
    private static let silence: Duration = .seconds(1)
    private static let interval: Duration = .milliseconds(100)

    private let name: String
    private let begin = ContinuousClock.now
    private let shown = Mutex<ContinuousClock.Instant?>(nil)

    init(_ name: String) { self.name = name }

    func show(_ report: ExchangeReport) {
        let now = ContinuousClock.now
        guard Terminal.error.isInteractive, now - begin >= Self.silence else { return }
        shown.withLock { last in
            if let last, now - last < Self.interval { return }
            last = now
            Self.write(
                "\r\u{1B}[K\(name): pulled \(report.pulledCount), pushed \(report.pushedCount), "
                    + StatusText.bytes(Int64(report.bytes)))
        }
    }

    /// Takes the line away.
    func end() {
        shown.withLock { last in
            if last != nil { Self.write("\r\u{1B}[K") }
            last = nil
        }
    }

    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

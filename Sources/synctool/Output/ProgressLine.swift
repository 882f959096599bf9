import Glibc
import SyncMerge
import Synchronization

/// A line on the terminal with the progress of an exchange that takes longer than a second.
final class ProgressLine: Sendable {
    /// A shorter exchange shows no progress.
    private static let delay: Duration = .seconds(1)
    private static let interval: Duration = .milliseconds(100)

    private let name: String
    private let begin = ContinuousClock.now
    private let shown = Mutex<ContinuousClock.Instant?>(nil)

    init(_ name: String) { self.name = Printable.text(name) }

    func show(_ report: ExchangeReport) {
        let now = ContinuousClock.now
        guard Terminal.error.isInteractive, now - begin >= Self.delay else { return }
        shown.withLock { last in
            if let last, now - last < Self.interval { return }
            last = now
            Self.write(
                "\r\u{1B}[K\(name): pulled \(report.pulledCount), pushed \(report.pushedCount), "
                    + ByteCount.text(Int64(report.bytes)))
        }
    }

    /// Erases the line.
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

import Dispatch
import Foundation
import SyncMerge
import Synchronization

/// A line on the terminal that shows that a command still works, and what it has done. It appears
/// after a second, and never in a pipe or a file.
///
/// Invariant: the line is on the terminal only between ``init(_:)`` and ``end()``, and not while
/// ``Terminal`` writes another one.
final class ProgressLine: Sendable {
    /// A shorter command shows no progress.
    private static let delay: Duration = .seconds(1)
    private static let interval = 0.2
    /// A longer line would be broken, and could not be erased.
    private static let widthMax = 78
    /// The line that is shown, to be erased before another one is written.
    private static let present = Mutex<ProgressLine?>(nil)

    private struct State {
        var detail = ""
        var isShown = false
        var isEnded = false
    }

    private let name: String
    private let begin = ContinuousClock.now
    private let state = Mutex(State())
    private let ending = DispatchSemaphore(value: 0)

    /// - Parameter name: what is done, or with what.
    init(_ name: String) {
        self.name = Printable.text(name, width: 40)
        guard Terminal.error.canErase else { return }
        Self.present.withLock { $0 = self }
        Thread { [self] in
            while ending.wait(timeout: .now() + Self.interval) == .timedOut { tick() }
        }.start()
    }

    /// Shows a line while something runs.
    static func during<Result>(
        _ name: String, _ body: () async throws -> Result
    ) async rethrows -> Result {
        let line = ProgressLine(name)
        defer { line.end() }
        return try await body()
    }

    /// Changes what is shown.
    func show(_ report: ExchangeReport) {
        state.withLock {
            $0.detail =
                "pulled \(report.pulledCount), pushed \(report.pushedCount), "
                + ByteCount.text(Int64(report.bytes))
        }
    }

    /// Erases the line for good.
    func end() {
        erase(isLast: true)
        Self.present.withLock { if $0 === self { $0 = nil } }
        ending.signal()
    }

    /// Erases the line that is shown, if there is one: another one is written.
    static func makeWay() { present.withLock { $0 }?.erase(isLast: false) }

    private func tick() {
        let time = ContinuousClock.now - begin
        guard time >= Self.delay else { return }
        state.withLock { state in
            guard !state.isEnded else { return }
            state.isShown = true
            try? Terminal.error.write(Self.text(name, state.detail, time))
        }
    }

    /// `\r`, and the line.
    static func text(_ name: String, _ detail: String, _ time: Duration) -> String {
        let detail = detail.isEmpty ? "" : detail + ", "
        return "\r\u{1B}[K" + "\(name): \(detail)\(time.components.seconds) s".prefix(widthMax)
    }

    private func erase(isLast: Bool) {
        state.withLock { state in
            if state.isShown { try? Terminal.error.write("\r\u{1B}[K") }
            state.isShown = false
            state.isEnded = state.isEnded || isLast
        }
    }
}

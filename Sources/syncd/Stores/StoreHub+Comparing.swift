import NIOCore
import SyncCore
import Synchronization

/// Comparing all rows with what is remembered of them, from time to time: a program that switched
/// triggers off leaves no other trace.
///
/// A slice takes a millisecond or two and is made only while the store is quiet. Between two of
/// them is ``comparingPause``: shorter, and a large store keeps a core busy; longer, and the
/// comparison of a million rows takes more than some minutes.
extension StoreHub {
    private static let comparingPause: TimeAmount = .milliseconds(50)
    private static let comparingWait: TimeAmount = .seconds(10)

    /// Begins a comparison when the last one, or the tracking, is `interval` ago. Blocks: on the
    /// pool.
    ///
    /// - Returns: whether the store was read for it: the caller leaves the others for another time.
    func compareIfDue(every interval: Duration) -> Bool {
        guard let opened = state.opened, state.beginComparison() else { return false }
        do {
            let wait = try interval - opened.store.timeSinceComparison()
            if wait > .zero {
                state.endComparison(next: wait)
                return true
            }
            let run = ComparisonRun(try opened.store.fullComparison(), of: opened)
            compareSlices(run, interval: interval)
        } catch {
            state.endComparison(next: interval / 10)
            troubled(.comparing, by: error)
        }
        return true
    }

    private func compareLater(_ run: ComparisonRun, in delay: TimeAmount, interval: Duration) {
        environment.loop.scheduleTask(in: delay) { [weak self] in
            self?.submit { [weak self] in self?.compareSlices(run, interval: interval) }
        }
    }

    private func compareSlices(_ run: ComparisonRun, interval: Duration) {
        guard state.opened(of: run.generation) != nil else {
            return state.endComparison(next: .zero)
        }
        guard state.isQuiet else {
            return compareLater(run, in: Self.comparingWait, interval: interval)
        }
        do {
            switch try run.next() {
            case .goesOn: compareLater(run, in: Self.comparingPause, interval: interval)
            case .finished:
                state.endComparison(next: interval)
                state.recovered([.comparing])
                let count = run.recoveredCount
                if count > 0 { log.notice("recorded \(count) changes that no trigger saw") }
            case .outdated: state.endComparison(next: interval / 100)
            }
        } catch let error as SyncError where error.isTransient {
            if error.code != .busy { troubled(.comparing, by: error) }
            compareLater(run, in: Self.comparingWait, interval: interval)
        } catch {
            state.endComparison(next: interval / 10)
            troubled(.comparing, by: error)
        }
    }
}

/// A comparison that goes from thread to thread, one slice at a time.
private final class ComparisonRun: Sendable {
    let generation: Int
    private let comparison: Mutex<FullComparison>

    init(_ comparison: sending FullComparison, of opened: OpenedStore) {
        self.comparison = Mutex(comparison)
        generation = opened.generation
    }

    func next() throws -> FullComparison.Progress { try comparison.withLock { try $0.next() } }

    var recoveredCount: Int { comparison.withLock { $0.recoveredCount } }
}

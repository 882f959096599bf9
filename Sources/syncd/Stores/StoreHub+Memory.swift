import CLinux
import NIOCore

extension StoreHub {
    /// Long enough that the parts of one transaction are sent, short enough that an idle daemon is
    /// small again.
    private static let releaseDelay: TimeAmount = .seconds(2)

    /// Large transactions leave pages in SQLite's caches and holes in the heap: they are returned
    /// to the system when the work is over.
    func releaseMemoryLater() {
        if state.noteLargeWork() { setReleaseTimer() }
    }

    private func setReleaseTimer() {
        environment.loop.scheduleTask(in: Self.releaseDelay) { [weak self] in
            guard let self else { return }
            guard self.state.beginRelease() else { return self.setReleaseTimer() }
            self.submit { self.releaseMemory() }
        }
    }

    private func releaseMemory() {
        // A store that is being closed has released it.
        try? state.opened?.store.releaseMemory()
        syncd_trim_memory()
    }
}

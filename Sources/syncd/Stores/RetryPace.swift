import SyncStorage

/// When a store that could not be opened is tried again: at once when its files have changed, else
/// after a pause that doubles each time, from 1 s to 30 s. Shorter pauses let a thousand broken
/// stores keep the daemon busy; longer ones delay a store whose repair does not change its files.
struct RetryPace {
    private static let pauseMin = Duration.seconds(1)
    private static let pauseMax = Duration.seconds(30)

    private var files: [FileStamp?] = []
    private var pause = Self.pauseMin
    private var next = ContinuousClock.now

    /// Whether to try now; if so, the next pause begins.
    ///
    /// - Complexity: O(1), two system calls.
    mutating func mayTry(_ path: String, now: ContinuousClock.Instant = .now) -> Bool {
        let present = [path, path + "-wal"].map(FileStamp.init(path:))
        if present != files {
            files = present
            pause = Self.pauseMin
        } else if now < next {
            return false
        }
        next = now + pause
        pause = min(pause * 2, Self.pauseMax)
        return true
    }
}

import CLinux

/// When a store that could not be opened is tried again: at once when its files have changed, else
/// after twice the time of before, up to half a minute. A thousand broken stores must not keep the
/// daemon busy.
struct RetryPace {
    private static let pauseMin = Duration.seconds(1)
    private static let pauseMax = Duration.seconds(30)

    private var files: [Stamp] = []
    private var pause = Self.pauseMin
    private var next = ContinuousClock.now

    /// Whether to try now; if so, the pause begins again.
    mutating func mayTry(_ path: String, now: ContinuousClock.Instant = .now) -> Bool {
        let present = [path, path + "-wal"].map(Stamp.init)
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

    /// Which file it is, and what can be seen of its content without opening it.
    private struct Stamp: Equatable {
        private let numbers: [Int64]

        init(_ path: String) {
            var file = syncd_file()
            _ = syncd_identify(path, &file)
            numbers = [
                Int64(bitPattern: file.device), Int64(bitPattern: file.inode), file.birth_seconds,
                file.write_seconds, Int64(file.write_nanoseconds), Int64(bitPattern: file.length),
            ]
        }
    }
}

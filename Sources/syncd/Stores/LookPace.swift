/// When a store whose reading a writer disturbed is read again: after 2 ms, then twice as long each
/// time up to 128 ms. Without the growth a lock that is held for a minute costs a part of a core;
/// with a longer beginning, notices beside a busy writer come later.
struct LookPace {
    private static let pauseMin = Duration.milliseconds(2)
    private static let pauseMax = Duration.milliseconds(128)

    private var pause = Self.pauseMin
    private var last: ContinuousClock.Instant?

    /// The pause before the next look. A failure that comes long after the one before starts over.
    mutating func next(now: ContinuousClock.Instant = .now) -> Duration {
        if let last, last.duration(to: now) < pause * 2 {
            pause = min(pause * 2, Self.pauseMax)
        } else {
            pause = Self.pauseMin
        }
        last = now
        return pause
    }
}

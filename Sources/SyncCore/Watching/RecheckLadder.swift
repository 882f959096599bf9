/// When to check the wal-index again after a write to the WAL was noticed.
///
/// The notice comes before the commit is published: the writer has yet to write more frames, to
/// sync, and to store the header, and storing it is memory alone, which wakes no process. In the
/// usual case that takes some 20 us, hence small steps first. With `synchronous=FULL` a sync comes
/// in between, milliseconds long: then each wait is a quarter of what went before, so that the
/// delay is at most a quarter of the writer's own; half when a commit was seen since the notice,
/// because most likely there is no other.
///
/// It is left when nothing is to come: see ``WalTail``.
struct RecheckLadder {
    private var step = 0
    private var elapsed: Int64 = 0
    private var hasFound = false

    /// Waits in nanoseconds after which the quarters begin.
    private static let waits: [Int64] = [
        15_000, 15_000, 20_000, 30_000, 50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000,
    ]

    /// The ladder ends here; the safety check follows.
    static let lengthMax: Int64 = 250_000_000

    /// A commit was seen.
    mutating func noteFound() { hasFound = true }

    /// The next wait in nanoseconds; nil at the end of the ladder.
    mutating func next() -> Int64? {
        guard elapsed < Self.lengthMax else { return nil }
        let wait = step < Self.waits.count ? Self.waits[step] : elapsed / (hasFound ? 2 : 4)
        step += 1
        elapsed += wait
        return wait
    }
}

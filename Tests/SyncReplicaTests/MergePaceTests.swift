import Testing

@testable import SyncReplica

/// How long a writer that waits as SQLite does finds the database locked, whatever is merged.
@Suite("Pauses of merges")
struct MergePaceTests {
    private let pace = MergePace()
    private let start = ContinuousClock.now

    /// Merges transactions of some facts each, as fast as the pace allows.
    /// - Returns: how long the lock was held without a pause, at most, and how long all took.
    private func run(_ facts: Int, each duration: Duration, count: Int) -> (Duration, Duration) {
        var now = start
        var (held, longest) = (Duration.zero, Duration.zero)
        for _ in 0..<count {
            let wait = pace.wait(before: facts, at: now)
            #expect(wait <= MergePace.pause)
            if wait == MergePace.pause { held = .zero }
            now += wait
            pace.note(facts, from: now, to: now + duration)
            now += duration
            held += duration
            longest = max(longest, held)
        }
        return (longest, now - start)
    }

    @Test(
        "small batches that follow each other leave the lock free, too",
        arguments: [1, 3, 8, 20, 25].map { Duration.milliseconds($0) })
    func smallBatches(each duration: Duration) {
        // As many facts as the pace expects of that time.
        let facts = Int(1_000 * (duration / MergePace.slice))
        let (held, took) = run(facts, each: duration, count: 200)
        #expect(held <= MergePace.heldMax)
        // And no longer than that needs: 15 ms in 40, or after each where two are too long.
        #expect(took <= duration * 200 + MergePace.pause * 200)
        if duration < .milliseconds(8) { #expect(took < duration * 200 * 1.7) }
    }

    @Test("there is no pause before the first, and none after others have had their turn")
    func freeLock() {
        #expect(pace.wait(before: 10_000, at: start) == .zero)
        pace.note(1_000, from: start, to: start + .milliseconds(30))
        let free = start + .milliseconds(30) + MergePace.pause
        #expect(pace.wait(before: 10_000, at: free - .milliseconds(5)) == .milliseconds(5))
        pace.note(1_000, from: free, to: free + .milliseconds(30))
        #expect(pace.wait(before: 10_000, at: free + .milliseconds(45)) == .zero)
    }

    @Test("slices become as large as 25 ms allow, and small batches do not change that")
    func sizes() {
        for _ in 0..<20 { pace.note(pace.factsMax, from: start, to: start + .milliseconds(50)) }
        #expect(pace.factsMax == 200)
        for _ in 0..<20 { pace.note(pace.factsMax, from: start, to: start + .milliseconds(5)) }
        #expect(pace.factsMax == 10_000)
        for _ in 0..<20 { pace.note(3, from: start, to: start + .milliseconds(5)) }
        #expect(pace.factsMax == 10_000)
        pace.note(10_000, from: start, to: start + .milliseconds(50))
        #expect(pace.factsMax == 5_000)
    }
}

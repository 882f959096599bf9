import Foundation

/// Seeds of random tests. A failure prints its seed, and `SYNCD_SEED` repeats it.
enum RandomSeed {
    /// The seed to repeat; nil for the usual ones.
    private static let given = ProcessInfo.processInfo.environment["SYNCD_SEED"]
        .flatMap(UInt64.init)

    /// A seed for one run.
    static func next() -> UInt64 { given ?? .random(in: 0 ... .max) }

    /// The seeds of a test that runs once for each.
    static func all(_ seeds: ClosedRange<UInt64>) -> [UInt64] { given.map { [$0] } ?? Array(seeds) }
}

import Foundation

/// The seed of a random test.
///
/// `SYNCD_SEED=4711` sets the seed of every random test: a failure prints its seed in this form
/// (``description``), and the same line before `swift test` repeats it.
package struct TestSeed: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// The seed that `SYNCD_SEED` sets; nil without it.
    package static var given: TestSeed? {
        ProcessInfo.processInfo.environment["SYNCD_SEED"].flatMap(UInt64.init).map(TestSeed.init)
    }

    /// The given seed, else a new one: short, because people copy it.
    ///
    /// It is printed, because a test that hangs or crashes has no failure to print it with.
    package static func drawn(for test: String = #function) -> TestSeed {
        let seed = given ?? TestSeed(.random(in: 1...999_999))
        print("\(test): \(seed)")
        return seed
    }

    /// The given seed, else one that finds the same in each run.
    package static func fixed(_ value: UInt64) -> TestSeed { given ?? TestSeed(value) }

    /// The given seed alone, else each of `values`.
    package static func each(of values: some Sequence<UInt64>) -> [TestSeed] {
        given.map { [$0] } ?? values.map(TestSeed.init)
    }

    /// The given seed alone, else ``count(_:)`` seeds from 0 on.
    package static func first(_ count: UInt64) -> [TestSeed] { each(of: 0..<self.count(count)) }

    /// How many seeds to run: `SYNCD_SEEDS`, else `count`.
    package static func count(_ count: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment["SYNCD_SEEDS"].flatMap(UInt64.init) ?? count
    }

    /// A generator at its beginning.
    package var random: SeededRandom { SeededRandom(seed: value) }

    package var description: String { "SYNCD_SEED=\(value)" }
}

import Foundation

/// The seed of a random test: `SYNCD_SEED` repeats one. It is printed, because a test that hangs or
/// crashes has no failure to print it with.
enum Seed {
    static func next(_ test: String = #function) -> UInt64 {
        let given = ProcessInfo.processInfo.environment["SYNCD_SEED"].flatMap(UInt64.init)
        let seed = given ?? .random(in: .min ... .max)
        print("\(test): SYNCD_SEED=\(seed)")
        return seed
    }
}

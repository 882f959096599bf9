import Glibc

/// What the program has asked of the Swift runtime: see `CCounts.h`.
struct SwiftCounts {
    /// Objects: instances, arrays, strings, closures.
    let allocations: Int64
    /// References that were counted up.
    let retains: Int64

    private typealias Count = @convention(c) () -> Int64

    private static func count(_ name: String) -> Count? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Count.self) }
    }

    /// What was counted until now; nil where `libCCounts.so` was not loaded before the program.
    static var now: SwiftCounts? {
        guard let allocations = count("swift_counts_allocations"),
            let retains = count("swift_counts_retains")
        else { return nil }
        return SwiftCounts(allocations: allocations(), retains: retains())
    }

    static func - (after: SwiftCounts, before: SwiftCounts) -> SwiftCounts {
        SwiftCounts(
            allocations: after.allocations - before.allocations,
            retains: after.retains - before.retains)
    }
}

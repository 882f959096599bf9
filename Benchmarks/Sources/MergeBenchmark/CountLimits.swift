import Foundation

/// How many objects a row may cost, and how many retains: what no clock shows exactly.
///
/// A limit is a little above what was counted when it was written (Swift 6.3, 20,000 rows): it
/// holds what was reached. The goal of the fast lane is less than one allocation and five retains.
struct CountLimits {
    let allocations: Double
    let retains: Double

    /// By the name of the measure.
    static let all = [
        "extract": CountLimits(allocations: 0.3, retains: 24),
        "apply to an empty store": CountLimits(allocations: 0.5, retains: 60),
        "apply, causal": CountLimits(allocations: 2.5, retains: 66),
        "apply, remote wins": CountLimits(allocations: 12.5, retains: 109),
        "apply, remote loses": CountLimits(allocations: 12.5, retains: 96),
        "first statement": CountLimits(allocations: 2.6, retains: 27),
        "first statement, logged": CountLimits(allocations: 12.4, retains: 151),
        "local statement": CountLimits(allocations: 19, retains: 142),
    ]

    /// Prints what was counted for each row.
    /// - Returns: whether it is within the limits.
    static func report(_ name: String, _ counts: SwiftCounts, rows: Int) -> Bool {
        let allocations = Double(counts.allocations) / Double(rows)
        let retains = Double(counts.retains) / Double(rows)
        let limits = all[name]
        let isWithin =
            limits.map { allocations <= $0.allocations && retains <= $0.retains } ?? false
        print(
            name.padding(toLength: 26, withPad: " ", startingAt: 0),
            String(format: "%7.2f allocations %7.2f retains a row", allocations, retains),
            limits.map { String(format: "(limits %.1f, %.1f)", $0.allocations, $0.retains) } ?? "",
            isWithin ? "" : limits == nil ? "HAS NO LIMITS" : "TOO MANY")
        return isWithin
    }
}

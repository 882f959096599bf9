import Foundation

/// Clocks and tables.
enum Meter {
    /// Wall seconds of `body`.
    static func seconds<Result>(_ body: () throws -> Result) rethrows -> (Double, Result) {
        let start = ContinuousClock.now
        let result = try body()
        let passed = (ContinuousClock.now - start).components
        return (Double(passed.seconds) + Double(passed.attoseconds) / 1e18, result)
    }

    /// CPU seconds of this process so far.
    static func processSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Bytes of this process's memory that are resident.
    static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    static func row(_ name: String, _ cells: String...) {
        print(
            name.padding(toLength: 44, withPad: " ", startingAt: 0)
                + cells.map { String(repeating: " ", count: max(1, 12 - $0.count)) + $0 }.joined())
    }

    static func number(_ value: Double) -> String { String(format: "%.2f", value) }
}

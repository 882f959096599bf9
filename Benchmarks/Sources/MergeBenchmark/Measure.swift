import CWriter
import Foundation

/// What a step cost.
struct Measure {
    /// Processor time in seconds: what else runs on the machine, and the pauses that a merge leaves
    /// to writers, do not count.
    let processor: Double
    /// Seconds by the clock on the wall.
    let wall: Double
    /// How much the resident memory of the process rose above what it was before, in bytes.
    let memoryBytes: Int
    /// What Swift allocated and retained; nil where it is not counted.
    let counts: SwiftCounts?

    /// Runs a step.
    static func of(_ body: () throws -> Void) rethrows -> Measure {
        // What earlier steps have left free counts again when it is used.
        malloc_trim(0)
        resetPeak()
        let before = residentBytes("VmRSS:")
        let counted = SwiftCounts.now
        let start = (processor: processorSeconds, wall: ContinuousClock.now)
        try body()
        let (wall, processor) = (ContinuousClock.now - start.wall, processorSeconds)
        let counts = SwiftCounts.now
        return Measure(
            processor: processor - start.processor, wall: wall / .seconds(1),
            memoryBytes: max(0, residentBytes("VmHWM:") - before),
            counts: counts.flatMap { now in counted.map { now - $0 } })
    }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The peak is that of the whole process until it is set back: man 5 proc, `clear_refs`.
    private static func resetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    private static func residentBytes(_ field: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
        let kibibytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first
        return (kibibytes.flatMap { Int($0) } ?? 0) * 1024
    }
}

import Foundation
import SyncTesting
import Testing

/// The executable specification (Python) writes random schedules; the product replays them.
@Suite("Merge specification")
struct DifferentialTests {
    /// How many schedules; `SYNCD_SCHEDULES` asks for more.
    private static let count =
        ProcessInfo.processInfo.environment["SYNCD_SCHEDULES"].flatMap { Int($0) } ?? 150

    @Test("every step gives the same rows, sources, open conflicts and refusals")
    func productFollowsSpecification() throws {
        var comparisons = 0
        for first in stride(from: 0, to: Self.count, by: 500) {
            let lines = try record(first..<min(first + 500, Self.count))
            for line in lines.split(separator: UInt8(ascii: "\n")) {
                let schedule = try JSONDecoder().decode(RecordedSchedule.self, from: line)
                var replay = ScheduleReplay(schedule)
                do {
                    try replay.run()
                } catch {
                    Issue.record("seed \(schedule.seed): \(error)")
                }
                comparisons += replay.comparisons
            }
        }
        #expect(comparisons > Self.count, "the schedules have steps")
    }

    private func record(_ seeds: Range<Int>) throws -> Data {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Specification/merge").standardizedFileURL
        let output = Pipe()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "python3", "-B", "schedules.py", "\(seeds.lowerBound)", "\(seeds.upperBound)",
        ]
        process.currentDirectoryURL = folder
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return data
    }
}

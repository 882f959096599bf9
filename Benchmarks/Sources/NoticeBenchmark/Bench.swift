import CNotice
import Foundation

/// A store in a folder of its own, the shared times, and a writer process.
final class Bench {
    let folder: String
    let path: String
    let times: UnsafeMutablePointer<notice_times>
    private let timesPath: String

    /// - Parameter isPlain: without a log made by hand: for a daemon to track.
    init(isPlain: Bool = false) throws {
        folder = NSTemporaryDirectory() + "/notice-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        path = folder + "/a.db"
        timesPath = "/dev/shm/notice-" + UUID().uuidString
        guard (isPlain ? notice_make_plain(path) : notice_make_store(path)) == 0,
            let times = notice_map(timesPath, 1)
        else {
            throw CocoaError(.fileWriteUnknown)
        }
        self.times = times
    }

    deinit {
        munmap(times, MemoryLayout<notice_times>.size)
        unlink(timesPath)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts a writer in another process; it waits until `ready` is set.
    func startWriter(count: Int, gapMicroseconds: Int, seconds: Double) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = [
            "writer", path, timesPath, "\(count)", "\(gapMicroseconds)", "\(seconds)",
        ]
        try process.run()
        return process
    }

    /// What was measured of the commits.
    struct Result {
        var fromReturn: [Int64] = []
        var fromStart: [Int64] = []
        var commit: [Int64] = []
        var missed = 0
    }

    var result: Result {
        var result = Result()
        guard let started = notice_started(times), let committed = notice_committed(times),
            let seen = notice_seen(times)
        else { return result }
        for number in stride(from: 1, through: Int(times.pointee.commits), by: 1) {
            result.commit.append(committed[number] - started[number])
            guard seen[number] > 0 else {
                result.missed += 1
                continue
            }
            result.fromReturn.append(seen[number] - committed[number])
            result.fromStart.append(seen[number] - started[number])
        }
        return result
    }

    /// Commits `from` up to `through` were seen at `time`.
    func note(_ from: Int64, through: Int64, at time: Int64) {
        guard let seen = notice_seen(times) else { return }
        for number in stride(from: from, through: min(through, Int64(NOTICE_COMMITS_MAX)), by: 1) {
            seen[Int(number)] = time
        }
    }
}

/// `p50 p99 max` in microseconds.
func quantiles(_ values: [Int64]) -> String {
    guard !values.isEmpty else { return "-" }
    let sorted = values.sorted()
    func at(_ share: Double) -> String {
        let place = min(sorted.count - 1, Int(Double(sorted.count) * share))
        return String(format: "%.0f", Double(sorted[place]) / 1e3)
    }
    return "p50 \(at(0.5))  p90 \(at(0.9))  p99 \(at(0.99))  max \(at(1)) us"
}

/// Processor time of this process so far, in seconds.
func processorSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
}

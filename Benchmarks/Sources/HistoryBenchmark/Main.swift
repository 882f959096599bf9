import Foundation
import SyncCore

/// What questions about a long history cost, and what purging half of it costs.
///
///     HistoryBenchmark [transactions] [folder]
///
/// The history is written straight into the documented tables: one change a transaction, ten
/// changes an object, one transaction in ten signed. Each measurement runs in a process of its own,
/// so that its peak memory (VmHWM) is its own. The floor of each question is the same rows read by
/// SQL alone. Defaults: 100,000 transactions, the current folder.
@main
enum Main {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "measure", arguments.count == 4, let count = Int64(arguments[3]) {
            return try Measurement.run(arguments[1], path: arguments[2], count: count)
        }
        let count = arguments.first.flatMap { Int64($0) } ?? 100_000
        let folder = arguments.dropFirst().first ?? "."
        guard count >= 1_000 else { return print("at least 1,000 transactions") }
        let failed = try measure(folder + "/history-benchmark-\(getpid()).db", count)
        guard failed.isEmpty else {
            print("not measured: \(failed.joined(separator: ", "))")
            exit(1)
        }
    }

    /// Makes the history and measures; what could not be measured.
    private static func measure(_ path: String, _ count: Int64) throws -> [String] {
        defer {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        let clock = ContinuousClock()
        let spent = try clock.measure { try LongHistory.make(path, count: count) }
        let bytes = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        print(
            "\(count) transactions, \(bytes >> 20) MB, \(bytes / Int(count)) bytes a transaction, "
                + "made in \(spent.formatted(.units(allowed: [.seconds])))")
        return try Measurement.names.filter { try !inOwnProcess($0, path, count) }
    }

    /// Whether the measurement came to its end.
    private static func inOwnProcess(
        _ name: String, _ path: String, _ count: Int64
    ) throws -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["measure", name, path, "\(count)"]
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .exit && process.terminationStatus == 0
    }
}

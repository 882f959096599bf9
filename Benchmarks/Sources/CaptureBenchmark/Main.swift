import CWriter
import Foundation
import SyncCore

/// What capture costs a writer, against plain SQLite in the same run.
///
///     CaptureBenchmark [rows] [rounds] [folder] [only]
///
/// Rounds alternate which of the two goes first; a ratio is the median of the rounds' ratios of the
/// writer's CPU time. Rows are made before the clock starts. Defaults: 20,000 rows, 7 rounds, the
/// current folder, all workloads; `only` is the beginning of the names of those to run.
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let numbers = arguments.prefix(2).map { Int($0) ?? 0 }
        let rows = numbers.first ?? 20_000
        let rounds = numbers.count > 1 ? numbers[1] : 7
        let folder = arguments.dropFirst(2).first ?? "."
        let only = arguments.dropFirst(3).first ?? ""
        guard rows >= 100, rounds > 0 else { return print("rows and rounds have to be numbers") }
        print(line("workload", "plain us", "capture us", "ratio", "target", "file", "B/change"))
        for workload in Workload.all(rows: rows) where workload.name.hasPrefix(only) {
            let data = writer_make_rows(Int32(workload.rows))
            defer { free(data) }
            guard let data else { return print("no memory") }
            var pairs: [(plain: Sample, captured: Sample)] = []
            for round in 0..<rounds {
                let isPlainFirst = round.isMultiple(of: 2)
                let first = try run(workload, data, tracked: !isPlainFirst, folder)
                let second = try run(workload, data, tracked: isPlainFirst, folder)
                pairs.append(isPlainFirst ? (first, second) : (second, first))
            }
            report(workload, pairs)
        }
    }

    struct Sample {
        /// CPU time of the writer.
        var seconds: Double
        /// The pages in use, free ones not counted.
        var bytes: Double
    }

    static func run(
        _ workload: Workload, _ data: UnsafePointer<writer_row>, tracked: Bool, _ folder: String
    ) throws -> Sample {
        let path = folder + "/capture-benchmark-\(getpid()).db"
        defer {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: path + suffix)
            }
        }
        let writer = try Writer(path)
        try writer.run(workload.schema)
        if workload.action != WRITER_INSERT {
            _ = try writer.write(
                data, workload, action: WRITER_INSERT, rowsPerTransaction: workload.rows)
            try writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        if tracked { try Store.track(path) }
        let seconds = try writer.write(
            data, workload, action: workload.action,
            rowsPerTransaction: workload.rowsPerTransaction)
        let pages =
            try writer.integer("PRAGMA page_count") - writer.integer("PRAGMA freelist_count")
        return Sample(
            seconds: seconds, bytes: Double(pages * (try writer.integer("PRAGMA page_size"))))
    }

    static func report(_ workload: Workload, _ pairs: [(plain: Sample, captured: Sample)]) {
        let rows = Double(workload.rows)
        func microseconds(_ seconds: [Double]) -> String {
            number(median(seconds) / rows * 1_000_000)
        }
        let (plain, captured) = (pairs[0].plain.bytes, pairs[0].captured.bytes)
        // A file whose rows are all deleted is no measure.
        let file = workload.action == WRITER_DELETE ? "-" : number(captured / plain)
        print(
            line(
                workload.name, microseconds(pairs.map(\.plain.seconds)),
                microseconds(pairs.map(\.captured.seconds)),
                number(median(pairs.map { $0.captured.seconds / $0.plain.seconds })),
                number(workload.target), file,
                number((captured - plain) / rows)))
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    static func number(_ value: Double) -> String { String(format: "%.2f", value) }

    static func line(_ name: String, _ cells: String...) -> String {
        name.padding(toLength: 36, withPad: " ", startingAt: 0)
            + cells.map { String(repeating: " ", count: max(1, 12 - $0.count)) + $0 }.joined()
    }
}

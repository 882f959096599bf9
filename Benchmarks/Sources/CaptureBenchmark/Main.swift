import CWriter
import Foundation
import PlainWriter
import SyncCore

/// What capture costs a writer, against plain SQLite in the same run, and what others cost it.
///
///     CaptureBenchmark [rows] [rounds] [folder] [only]
///
/// In each round every contender writes the same rows, in an order that changes from round to
/// round; a ratio is the median of the rounds' ratios to plain SQLite, of the writer's CPU time.
/// Rows are made before the clock starts. Defaults: 20,000 rows, 7 rounds, the current folder, all
/// workloads; `only` is the beginning of the names of those to run.
///
/// The PyPI packages are measured when PYTHON (or `.venv/bin/python`) has them.
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
        let contenders = Contender.allCases.filter(\.isAvailable)
        print(
            line(
                "workload",
                ["plain us"] + contenders.dropFirst().map(\.rawValue)
                    + ["goal", "file", "B/change"]))
        for workload in Workload.all(rows: rows) where workload.name.hasPrefix(only) {
            let data = writer_make_rows(Int32(workload.rows))
            defer { free(data) }
            guard let data else { return print("no memory") }
            var samples: [Contender: [Sample]] = [:]
            for round in 0..<rounds {
                for turn in contenders.indices {
                    let contender = contenders[(turn + round) % contenders.count]
                    samples[contender, default: []].append(
                        try run(workload, data, contender, folder))
                }
            }
            report(workload, contenders, samples)
        }
    }

    struct Sample {
        /// CPU time of the writer.
        var seconds: Double
        /// The pages in use, free ones not counted.
        var bytes: Double
    }

    static func run(
        _ workload: Workload, _ data: UnsafePointer<writer_row>, _ contender: Contender,
        _ folder: String
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
                data, count: workload.rows, rowsPerTransaction: workload.rows,
                action: WRITER_INSERT, key: workload.key)
            try writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try contender.install(path)
        let seconds = try writer.write(
            data, count: workload.rows, rowsPerTransaction: workload.rowsPerTransaction,
            action: workload.action, key: workload.key, session: contender == .session)
        return Sample(seconds: seconds, bytes: try pageBytes(writer))
    }

    private static func pageBytes(_ writer: Writer) throws -> Double {
        let pages =
            try writer.integer("PRAGMA page_count") - writer.integer("PRAGMA freelist_count")
        return Double(pages * (try writer.integer("PRAGMA page_size")))
    }

    static func report(
        _ workload: Workload, _ contenders: [Contender], _ samples: [Contender: [Sample]]
    ) {
        guard let plain = samples[.plain], let captured = samples[.syncd] else { return }
        let rows = Double(workload.rows)
        let ratios = contenders.dropFirst().map { contender in
            let pairs = zip(samples[contender] ?? [], plain)
            return number(median(pairs.map { $0.seconds / $1.seconds }))
        }
        let (before, after) = (plain[0].bytes, captured[0].bytes)
        // A file whose rows are all deleted is no measure.
        let file = workload.action == WRITER_DELETE ? "-" : number(after / before)
        print(
            line(
                workload.name,
                [number(median(plain.map(\.seconds)) / rows * 1_000_000)] + ratios
                    + [number(workload.target), file, number((after - before) / rows)]))
    }

    static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    static func number(_ value: Double) -> String { String(format: "%.2f", value) }

    static func line(_ name: String, _ cells: [String]) -> String {
        name.padding(toLength: 35, withPad: " ", startingAt: 0)
            + cells.map { String(repeating: " ", count: max(1, 11 - $0.count)) + $0 }.joined()
    }
}

import Foundation
import SyncCore

/// Extracting and merging 100,000 rows, beside plain SQL on the same rows in the same run.
///
///     swift run -c release --package-path Benchmarks MergeBenchmark [ROWS] [FOLDER]
///
/// Medians of three pairs. Plain SQL is what a program would write by hand: one prepared upsert per
/// row, in transactions of a thousand.
@main
enum MergeBenchmark {
    static func main() throws {
        let arguments = CommandLine.arguments
        let rows = arguments.count > 1 ? Int(arguments[1]) ?? 100_000 : 100_000
        let folder =
            (arguments.count > 2 ? arguments[2] : NSTemporaryDirectory())
            + "/merge-benchmark-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var figures: [String: [(ours: Double, plain: Double)]] = [:]
        var bytes = 0
        for round in 0..<3 {
            let bench = try Round(folder: folder + "/\(round)", rows: rows)
            for (name, pair) in try bench.run() { figures[name, default: []].append(pair) }
            bytes = bench.batchBytes
        }
        print("\(rows) rows; batch \(bytes) bytes, \(bytes / rows) a row")
        for name in Round.names {
            guard let pairs = figures[name] else { continue }
            let ours = median(pairs.map(\.ours))
            let plain = median(pairs.map(\.plain))
            let ratio = median(pairs.map { $0.ours / $0.plain })
            print(
                name.padding(toLength: 34, withPad: " ", startingAt: 0),
                String(
                    format: "%8.3f s   plain %7.3f s   ratio %6.2f   %9.0f rows/s", ours, plain,
                    ratio, Double(rows) / ours))
        }
    }

    private static func median(_ values: [Double]) -> Double {
        values.sorted()[values.count / 2]
    }
}

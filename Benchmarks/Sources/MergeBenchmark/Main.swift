import Foundation
import SyncCore

/// Extracting and merging 100,000 rows, beside plain SQL and the session extension on the same rows
/// in the same run.
///
///     swift run -c release --package-path Benchmarks MergeBenchmark [ROWS] [FOLDER] [ROUNDS]
///
/// With `libCCounts.so` loaded before it (`make count`) it shows what Swift allocated and retained in
/// one round, for each row, in place of times. The status is 1 where that is more than
/// ``CountLimits``.
///
/// Medians of three rounds. Plain SQL is what a program would write by hand: prepared upserts or
/// updates, a hundred in a transaction; for `extract`, a read of all rows. The last column is how
/// much the memory of the process rose.
///
/// *First statement*: what the first push of a database with rows does, of rows that are older than
/// history or logged. *Local statement*: what a push does of an update of every row. Each is one
/// write transaction.
@main
enum MergeBenchmark {
    static func main() throws {
        let isCounting = SwiftCounts.now != nil
        let arguments = CommandLine.arguments
        let rows = arguments.count > 1 ? Int(arguments[1]) ?? 100_000 : 100_000
        let folder =
            (arguments.count > 2 ? arguments[2] : NSTemporaryDirectory())
            + "/merge-benchmark-\(ProcessInfo.processInfo.processIdentifier)"
        let rounds = isCounting ? 1 : arguments.count > 3 ? Int(arguments[3]) ?? 3 : 3
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var figures: [String: [Round.Figures]] = [:]
        var waits: [Double] = []
        var last: Round?
        for number in 0..<rounds {
            var round = try Round(folder: folder + "/\(number)", rows: rows)
            for (name, found) in try round.run() { figures[name, default: []].append(found) }
            waits.append(round.longestWait)
            last = round
        }
        guard let last else { return }
        if isCounting {
            let isWithin = Round.names.map { name in
                figures[name]?.first?.ours.counts.map {
                    CountLimits.report(name, $0, rows: rows)
                } ?? false
            }
            try? FileManager.default.removeItem(atPath: folder)
            if isWithin.contains(false) { exit(1) }
            return
        }
        print(
            """
            \(rows) rows; batch \(last.batchBytes) bytes (\(last.batchBytes / rows) a row), \
            changeset \(last.changesetBytes) bytes
            """)
        for name in Round.names { figures[name].map { report(name, $0, rows) } }
        print(
            String(
                format: "longest wait of a writer meanwhile %.0f ms (%d writes in the last round)",
                median(waits) * 1000, last.waits))
        for name in Round.statements {
            let walls = figures[name].map { $0.map(\.ours.wall) } ?? []
            print("\(name): one write transaction of", String(format: "%.2f s", median(walls)))
        }
        for (name, tally) in last.tallies {
            print(
                "\(name): \(tally.plainObjects) objects stated row by row,",
                "\(tally.regionObjects) with a region \(tally.obstacles),",
                "\(tally.transactionCount) transactions, the longest \(tally.longestTransaction)")
        }
    }

    private static func report(_ name: String, _ figures: [Round.Figures], _ rows: Int) {
        let ours = median(figures.map(\.ours.processor))
        let plain = median(figures.map { $0.ours.processor / $0.plain })
        let session = figures.compactMap { round in round.session.map { $0 / round.plain } }
        let compared = session.isEmpty ? "" : String(format: "; session %.2f x", median(session))
        print(
            name.padding(toLength: 26, withPad: " ", startingAt: 0),
            String(
                format: "%7.3f s %9.0f rows/s   %6.2f x plain SQL (%.3f s",
                ours, Double(rows) / ours, plain, median(figures.map(\.plain))) + compared + ")",
            String(
                format: "%4.0f MB", median(figures.map { Double($0.ours.memoryBytes) / 1e6 })))
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}

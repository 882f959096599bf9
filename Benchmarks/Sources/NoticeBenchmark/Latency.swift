import CNotice
import Foundation
import SyncCore

/// From COMMIT's return in another process to the rows in hand here.
enum Latency {
    static func measureQuiet(rounds: Int = 3, commits: Int = 1_000) throws {
        for _ in 0..<rounds {
            try report("(a) floor  ", floor(commits: commits, seconds: 0))
            try report("(b) watcher", watcher(commits: commits, seconds: 0))
            // (c), the whole daemon with its clients: WholeDaemon.
        }
    }

    static func measureBurst(rounds: Int = 3, seconds: Double = 1.5) throws {
        for _ in 0..<rounds {
            try report("no watcher ", alone(seconds: seconds))
            try report("(a) floor  ", floor(commits: 0, seconds: seconds))
            try report("(b) watcher", watcher(commits: 0, seconds: seconds))
        }
    }

    struct Outcome {
        var result: Bench.Result
        var seconds: Double
        var processor: Double
        var note = ""
    }

    static func report(_ name: String, _ outcome: Outcome) {
        let count = outcome.result.commit.count
        let rate = Double(count) / outcome.seconds
        print(
            "\(name) \(count) commits, \(Int(rate))/s:"
                + " from return \(quantiles(outcome.result.fromReturn));"
                + " from start \(quantiles(outcome.result.fromStart));"
                + " COMMIT \(quantiles(outcome.result.commit));"
                + " missed \(outcome.result.missed);"
                + String(format: " cpu %.1f %%", outcome.processor / outcome.seconds * 100)
                + outcome.note)
    }

    static func measure(
        _ bench: Bench, commits: Int, seconds: Double, _ body: () throws -> String
    ) throws -> Outcome {
        let writer = try bench.startWriter(
            count: commits, gapMicroseconds: 2_000, seconds: seconds)
        let processor = processorSeconds()
        let note = try body()
        writer.waitUntilExit()
        let spent = processorSeconds() - processor
        let result = bench.result
        guard let started = notice_started(bench.times),
            let committed = notice_committed(bench.times)
        else { throw CocoaError(.fileReadUnknown) }
        let duration = Double(committed[Int(bench.times.pointee.commits)] - started[1]) / 1e9
        return Outcome(result: result, seconds: duration, processor: spent, note: note)
    }

    private static func alone(seconds: Double) throws -> Outcome {
        let bench = try Bench()
        return try measure(bench, commits: 0, seconds: seconds) {
            bench.times.pointee.ready = 1
            return ""
        }
    }

    static func floor(commits: Int, seconds: Double) throws -> Outcome {
        let bench = try Bench()
        return try measure(bench, commits: commits, seconds: seconds) {
            // Something must keep the -wal alive until the floor has opened the store.
            _ = notice_floor(bench.path, bench.times, nil)
            return "; wakes \(bench.times.pointee.wakes)"
        }
    }

    private static func watcher(commits: Int, seconds: Double) throws -> Outcome {
        let bench = try Bench()
        let tail = try Tail(bench.path)
        let watcher = try StoreWatcher()
        let times = bench.times
        nonisolated(unsafe) let shared = bench
        let outcome = try measure(bench, commits: commits, seconds: seconds) {
            _ = watcher.add(path: bench.path, index: tail.index) { _ in
                let before = tail.digested
                guard let last = tail.look().last else { return }
                shared.note(before + 1, through: last.last, at: notice_now())
            }
            times.pointee.ready = 1
            while times.pointee.done == 0 { usleep(1_000) }
            usleep(300_000)
            watcher.stop()
            return "; looks \(tail.looks), rows \(tail.rowCount), inexact \(tail.inexact)"
                + "; boundaries after \(quantiles(tail.boundaryTimes))"
                + "; look \(quantiles(tail.lookTimes))"
        }
        return outcome
    }
}

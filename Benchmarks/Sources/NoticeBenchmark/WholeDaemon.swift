import CNotice
import Foundation

/// (c): from COMMIT's return in another process, through a real syncd, to the bytes in the client's
/// hand.
enum WholeDaemon {
    static func measure(rounds: Int = 2, commits: Int = 1_000) throws {
        for _ in 0..<rounds {
            Latency.report(
                "(a) floor              ", try Latency.floor(commits: commits, seconds: 0))
            try runFloor(commits: commits)
            try run(clients: 1, commits: commits, seconds: 0)
            try run(clients: 100, commits: commits, seconds: 0)
        }
        try run(clients: 1, commits: 0, seconds: 3)
    }

    /// The least that a daemon does: it waits for the WAL, reads its position and sends a number to
    /// a client process.
    private static func runFloor(commits: Int) throws {
        let bench = try Bench()
        nonisolated(unsafe) let client = try ClientTimes()
        let socket = bench.folder + "/floor.sock"
        nonisolated(unsafe) var process: Process?
        let outcome = try Latency.measure(bench, commits: commits, seconds: 0) {
            let starter = Thread {
                while !FileManager.default.fileExists(atPath: socket) { usleep(1_000) }
                process = try? client.startClient(socket, "floor")
            }
            starter.start()
            _ = notice_floor(bench.path, bench.times, socket)
            usleep(100_000)
            return ""
        }
        process?.waitUntilExit()
        summarize(
            bench, [client], outcome.seconds, outcome.processor, name: "(b) floor to a client")
    }

    private static func run(clients: Int, commits: Int, seconds: Double) throws {
        let bench = try Bench(isPlain: true)
        let daemon = try Daemon(bench)
        let call =
            #"{"method":"org.syncd.Store.Subscribe","more":true,"parameters":{"store":"\#(bench.path)"}}"#
        let inputs = try (0..<clients).map { _ in try ClientTimes() }
        let processes = try inputs.map { try $0.startClient(daemon.socket, call) }
        for input in inputs { while input.times.pointee.ready == 0 { usleep(1_000) } }
        let before = daemon.processorSeconds
        let outcome = try Latency.measure(bench, commits: commits, seconds: seconds) {
            bench.times.pointee.ready = 1
            while bench.times.pointee.done == 0 { usleep(1_000) }
            usleep(500_000)
            // Who lagged reads the rest from history: wait for the last commit, not for a time.
            let last = Int(bench.times.pointee.commits)
            for _ in 0..<300 {
                let isBehind = inputs.contains { (notice_seen($0.times)?[last] ?? 0) == 0 }
                guard isBehind else { break }
                usleep(100_000)
            }
            return ""
        }
        let spent = daemon.processorSeconds - before
        for process in processes {
            process.terminate()
            process.waitUntilExit()
        }
        summarize(
            bench, inputs, outcome.seconds, spent, name: "(c) syncd, \(inputs.count) clients")
    }

    private static func summarize(
        _ bench: Bench, _ inputs: [ClientTimes], _ seconds: Double, _ spent: Double, name: String
    ) {
        guard let started = notice_started(bench.times),
            let committed = notice_committed(bench.times)
        else { return }
        let count = Int(bench.times.pointee.commits)
        var all: [Int64] = []
        var last: [Int64] = []
        var commit: [Int64] = []
        var missed = 0
        for number in stride(from: 1, through: count, by: 1) {
            commit.append(committed[number] - started[number])
            var latest: Int64 = 0
            for input in inputs {
                let seen = notice_seen(input.times)?[number] ?? 0
                guard seen > 0 else {
                    missed += 1
                    continue
                }
                all.append(seen - committed[number])
                latest = max(latest, seen)
            }
            if latest > 0 { last.append(latest - committed[number]) }
        }
        print(
            name.padding(toLength: 23, withPad: " ", startingAt: 0)
                + " \(count) commits, \(Int(Double(count) / seconds))/s: from return \(quantiles(all));"
                + (inputs.count > 1 ? " last client \(quantiles(last));" : "")
                + " COMMIT \(quantiles(commit)); missed \(missed);"
                + String(format: " cpu %.1f %%", spent / seconds * 100))
    }
}

/// When one client saw each commit.
private final class ClientTimes {
    let times: UnsafeMutablePointer<notice_times>
    private let path = "/dev/shm/notice-" + UUID().uuidString

    init() throws {
        guard let times = notice_map(path, 1) else { throw CocoaError(.fileWriteUnknown) }
        self.times = times
    }

    deinit {
        munmap(times, MemoryLayout<notice_times>.size)
        unlink(path)
    }

    func startClient(_ socket: String, _ call: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = ["client", socket, path, call, "0"]
        try process.run()
        return process
    }
}

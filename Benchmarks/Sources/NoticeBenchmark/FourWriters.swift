import CNotice
import Foundation
import SyncClient
import SyncCore

/// A million commits of four processes at once (two in C, one in Python, one in Swift), through a
/// real syncd to one client. Row n of writer w has the key w * 10^7 + n, so that the client knows
/// what it missed, what came twice and what came out of order.
enum FourWriters {
    private static let stride: Int64 = 10_000_000

    /// - Returns: whether each commit came once, in the order of its writer.
    static func measure(commits: Int64 = 1_000_000) async throws -> Bool {
        let bench = try Bench(isPlain: true)
        let daemon = try Daemon(bench)
        let counter = CommitCounter(expected: commits, stride: stride)
        let client = StoreClient(socket: daemon.socket)
        // On a busy machine the socket may be there before the store is open.
        for _ in 0..<200 where (try? await client.track(bench.path)) == nil {
            try await Task.sleep(for: .milliseconds(50))
        }
        let subscription = client.subscribe(bench.path)
        let (began, hasBegun) = AsyncStream.makeStream(of: Void.self)
        let reading = Task {
            defer { hasBegun.finish() }
            for try await notice in subscription {
                switch notice {
                case .began: hasBegun.finish()
                case .lagged: counter.lagged += 1
                case .transaction(let transaction): counter.take(transaction)
                default: break
                }
                if counter.isDone { return counter }
            }
            return counter
        }
        for await _ in began {}
        let clock = ContinuousClock()
        let start = clock.now
        let writers = try (1...4).map { try startWriter($0, bench.path, commits / 4) }
        for writer in writers { writer.waitUntilExit() }
        let written = clock.now - start
        // Everything has to come within a minute; what has not is missed.
        let limit = Task {
            try await Task.sleep(for: .seconds(60))
            reading.cancel()
        }
        let result = (try? await reading.value) ?? counter
        limit.cancel()
        let spent = Double(written.components.seconds)
        print(
            "four writers: \(commits) commits in \(Int(spent)) s, \(Int(Double(commits) / spent)) "
                + "a second; missed \(result.missed), twice \(result.twice), out of order "
                + "\(result.disorder), lagged \(result.lagged) times, \(result.transactions) "
                + "transactions (\(result.coalesced) coalesced); syncd "
                + String(format: "%.0f s of CPU, ", daemon.processorSeconds)
                + daemon.residentKilobytes)
        return result.missed == 0 && result.twice == 0 && result.disorder == 0
    }

    private static func startWriter(_ number: Int, _ path: String, _ count: Int64) throws -> Process
    {
        let process = Process()
        let first = Int64(number) * stride
        switch number {
        case 4:
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["python3", "-c", python, path, "\(first)", "\(count)"]
        case 3:
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
                .resolvingSymlinksInPath()
            process.arguments = ["swiftrows", path, "\(first)", "\(count)"]
        default:
            process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
                .resolvingSymlinksInPath()
            process.arguments = ["crows", path, "\(first)", "\(count)"]
        }
        try process.run()
        return process
    }

    private static let python = """
        import sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous = NORMAL")
        first, count = int(sys.argv[2]), int(sys.argv[3])
        for n in range(1, count + 1):
            connection.execute("INSERT INTO t(id, title) VALUES (?, 'python')", (first + n,))
        """

    /// The writer in Swift.
    static func writeRows(_ path: String, first: Int64, count: Int64) -> Int32 {
        var connection: OpaquePointer?
        var insert: OpaquePointer?
        guard sqlite3_open(path, &connection) == SQLITE_OK else { return 1 }
        sqlite3_busy_timeout(connection, 60_000)
        sqlite3_exec(connection, "PRAGMA synchronous = NORMAL", nil, nil, nil)
        sqlite3_prepare_v2(
            connection, "INSERT INTO t(id, title) VALUES (?, 'swift')", -1, &insert, nil)
        for number in 1...count {
            sqlite3_bind_int64(insert, 1, first + number)
            guard sqlite3_step(insert) == SQLITE_DONE else { return 1 }
            sqlite3_reset(insert)
        }
        sqlite3_finalize(insert)
        return sqlite3_close(connection)
    }
}

/// What came, and how. Only the task that reads touches it until that has ended.
final class CommitCounter: @unchecked Sendable {
    // Guarded by: one task writes, and is awaited before anybody else reads.
    private let expected: Int64
    private let stride: Int64
    private var last = [Int64](repeating: 0, count: 5)
    private var got: Int64 = 0
    private(set) var twice = 0
    private(set) var disorder = 0
    private(set) var transactions = 0
    private(set) var coalesced = 0
    var lagged = 0

    init(expected: Int64, stride: Int64) {
        self.expected = expected
        self.stride = stride
    }

    var isDone: Bool { got >= expected }
    var missed: Int64 { expected - got }

    func take(_ transaction: Transaction) {
        transactions += 1
        if transaction.flags.contains(.coalesced) { coalesced += 1 }
        for change in transaction.changes {
            guard case .integer(let id) = change.object.key.values[0] else { continue }
            let (writer, number) = (Int(id / stride), id % stride)
            if number <= last[writer] {
                twice += 1
                continue
            }
            if number != last[writer] + 1 { disorder += 1 }
            last[writer] = number
            got += 1
        }
    }
}

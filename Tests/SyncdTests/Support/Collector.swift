import Foundation
import SyncClient
import SyncCore
import SyncMerge
import Synchronization
import Testing

/// Reads a subscription in a task of its own and keeps what comes.
final class Collector: Sendable {
    private struct State {
        var notices: [Notice] = []
        var error: (any Error)?
    }

    private final class Box: Sendable { let state = Mutex(State()) }

    private let box = Box()
    private let task: Task<Void, Never>

    /// - Parameter gate: nothing is read before it opens, but for the first notice.
    init(_ subscription: Subscription, gate: Gate? = nil) {
        task = Task { [box] in
            do {
                for try await notice in subscription {
                    box.state.withLock { $0.notices.append(notice) }
                    await gate?.wait()
                }
            } catch {
                box.state.withLock { $0.error = error }
            }
        }
    }

    deinit { task.cancel() }

    var notices: [Notice] { box.state.withLock { $0.notices } }
    var error: (any Error)? { box.state.withLock { $0.error } }

    var transactions: [Transaction] {
        notices.compactMap {
            if case .transaction(let transaction) = $0 { transaction } else { nil }
        }
    }

    var objects: [String] { transactions.flatMap(\.changes).map(\.object.path) }

    func has(_ predicate: (Notice) -> Bool) -> Bool { notices.contains(where: predicate) }

    /// Notices about held objects as short texts.
    var heldNotices: [String] {
        notices.compactMap { notice in
            switch notice {
            case .gone(let gone):
                let cause: String
                switch gone.cause {
                case .cascade: cause = "cascade"
                case .direct: cause = "direct"
                default: cause = "other"
                }
                return "gone \(gone.object.path) \(cause)"
            case .changed(let changed):
                return "changed \(changed.object.path) \(changed.properties)"
            case .replaced(let replaced): return "replaced \(replaced.object.path)"
            default: return nil
            }
        }
    }

    func begun() async throws {
        try await eventually("the subscription begins") {
            if let error { throw error }
            return !notices.isEmpty
        }
    }

    /// Stops at once; what was received until now.
    func stop() -> [Transaction] {
        task.cancel()
        return transactions
    }

    func expectAscending() {
        let numbers = transactions.map(\.number)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }
}

/// Holds tasks up until it is opened.
final class Gate: Sendable {
    private let isOpen = Mutex(false)

    func open() { isOpen.withLock { $0 = true } }

    func wait() async {
        while !isOpen.withLock({ $0 }), !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// Commits one row at a time from another process, with Python's sqlite3.
final class Writer {
    private let process = Process()

    init(_ store: String, commits: Int) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import sqlite3, sys, time
            db = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
            db.execute("PRAGMA synchronous = OFF")
            for i in range(int(sys.argv[2])):
                db.execute("INSERT INTO Artist(Name) VALUES (?)", ("w%d" % i,))
                if i % 10 == 0: time.sleep(0.005)
            """, store, "\(commits)",
        ]
        try process.run()
    }

    deinit { if process.isRunning { process.terminate() } }

    var isRunning: Bool { process.isRunning }

    func status() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }
}

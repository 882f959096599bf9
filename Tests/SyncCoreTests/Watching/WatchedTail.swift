import Foundation
import SyncTesting
import Synchronization

@testable import SyncCore
@testable import SyncStorage

/// What the daemon has for a store: a connection that stays open, a boundary reader, a look on each
/// event.
///
/// `@unchecked Sendable`: the connection and the reader are used under the lock of `state` alone.
final class WatchedTail: @unchecked Sendable {
    private struct State {
        var boundaries: [Boundary] = []
        var events: [StoreEvent] = []
        var failures: [String] = []
    }

    private let state = Mutex(State())
    private let connection: PlainConnection
    private let reader: BoundaryReader

    init(_ path: String) throws {
        connection = try PlainConnection(path)
        reader = try BoundaryReader(connection.handle)
    }

    var index: WalIndex? { state.withLock { _ in reader.index } }

    func handle(_ event: StoreEvent) {
        state.withLock { state in
            state.events.append(event)
            do { try lookAgain(&state) } catch { state.failures.append("\(error)") }
        }
    }

    /// As the daemon does: a WAL that is reset under the reader's hands, on a machine that kept it
    /// from its processor, is read again a moment later.
    private func lookAgain(_ state: inout State) throws {
        for _ in 0..<500 {
            do {
                return try look(&state)
            } catch let error as SyncError where error.isTransient {
                usleep(2_000)
            }
        }
        try look(&state)
    }

    private func look(_ state: inout State) throws {
        let digested = state.boundaries.last?.last ?? 0
        reader.willRead()
        try connection.run("BEGIN")
        defer { try? connection.run("COMMIT") }
        state.boundaries += try reader.boundaries(after: digested).transactions
    }

    var boundaries: [Boundary] { state.withLock { $0.boundaries } }
    var failures: [String] { state.withLock { $0.failures } }
    var last: Int64 { state.withLock { $0.boundaries.last?.last ?? 0 } }

    func count(of event: StoreEvent) -> Int {
        state.withLock { $0.events.count { $0 == event } }
    }

    /// Groups of names of transactions, as column `a` of the inserted rows has them, one group per
    /// boundary.
    func names() throws -> [Set<String>] {
        try state.withLock { state in
            let rows = try Statement(
                "SELECT a FROM syncd_log l JOIN t ON t.id = l.pk WHERE seq > ? AND seq <= ?",
                on: connection.handle)
            var names: [Set<String>] = []
            var previous: Int64 = 0
            for boundary in state.boundaries {
                rows.bind(previous, at: 1)
                rows.bind(boundary.last, at: 2)
                var group: Set<String> = []
                while try rows.step() { group.insert(rows.text(0) ?? "") }
                names.append(group)
                previous = boundary.last
            }
            return names
        }
    }
}

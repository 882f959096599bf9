import Dispatch
import Foundation
import SyncCore
import Synchronization

/// Follows what other processes commit to a store, by watching its file; where the database is
/// tracked, its history says who deleted what.
///
/// Invariants: `token` only moves forward; it is read, and moved, by one look at a time.
final class StoreFollower: Sendable {
    /// What history says of a look's interval.
    struct Deletion: Sendable {
        let table: String
        let key: ObjectKey
        let gone: Gone
        let cascadeOf: (table: String, key: ObjectKey)?
    }

    private struct State {
        var history: SyncCore.Store?
        var token: Token?
    }

    /// One thread watches all stores of the process.
    private static let watcher = Mutex<StoreWatcher?>(nil)

    private let path: String
    private let queue = DispatchQueue(label: "syncd.follow", qos: .userInitiated)
    private let state = Mutex(State())
    private let watch = Mutex<(watcher: StoreWatcher, id: StoreWatcher.StoreID)?>(nil)

    init(path: String) { self.path = path }

    deinit {
        if let watch = watch.withLock({ $0 }) { watch.watcher.remove(watch.id) }
    }

    /// Calls `onEvent`, on a queue of its own, after each commit of anybody.
    func start(_ index: WalIndex?, _ onEvent: @escaping @Sendable (StoreEvent) -> Void) throws {
        let watcher = try Self.watcher.withLock { shared in
            let watcher = try shared ?? StoreWatcher()
            shared = watcher
            return watcher
        }
        let queue = queue
        let id = watcher.add(path: path, index: index) { event in
            queue.async { onEvent(event) }
        }
        watch.withLock { $0 = (watcher, id) }
        openHistory()
    }

    /// Opens the history, when there is one and it is not open yet. Deletions from now on are
    /// known.
    func openHistory() {
        guard state.withLock({ $0.history == nil }) else { return }
        guard let history = try? SyncCore.Store.open(path), let head = try? history.head() else {
            return
        }
        state.withLock { $0 = State(history: history, token: head) }
    }

    /// What was deleted since the last call by others than this process. Empty without history, and
    /// when history has been purged in between: then the rows alone say what is there.
    func deletions() -> [Deletion] {
        openHistory()
        guard
            let (history, token) = state.withLock({ state in state.history.map { ($0, state.token) }
            }),
            let head = try? history.head()
        else { return [] }
        var query = HistoryQuery()
        query.after = token
        query.upTo = head
        query.kinds = [.delete]
        let transactions = (try? history.history(query)) ?? []
        state.withLock { $0.token = head }
        let own = Int64(ProcessInfo.processInfo.processIdentifier)
        return transactions.filter { $0.process?.pid != own }.flatMap { transaction in
            transaction.changes.filter { $0.kind == .delete }.map { deletion($0, transaction) }
        }
    }

    private func deletion(_ change: Change, _ transaction: Transaction) -> Deletion {
        let gone = Gone(
            .deleted, author: transaction.author,
            time: Date(timeIntervalSince1970: Double(transaction.timestamp.milliseconds) / 1000),
            transaction: transaction.number)
        var parent: (String, ObjectKey)?
        if case .cascade(let object) = change.cause {
            parent = (object.entity, ObjectKey(object.key.values))
        }
        return Deletion(
            table: change.object.entity, key: ObjectKey(change.object.key.values), gone: gone,
            cascadeOf: parent)
    }
}

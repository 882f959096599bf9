import SyncClient
import SyncCore
import Varlink

extension StoreService {
    func addHistoryMethods(_ interface: inout ServedInterface) {
        let registry = registry
        interface.on("Head", pool: pool) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .read)
                .store()
            return ["token": .string(try store.head().description)]
        }
        interface.on("Count", pool: pool) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .read)
                .store()
            let count = try store.count(try arguments.query())
            return [
                "transactions": .integer(Int64(count.transactions)),
                "changes": .integer(Int64(count.changes)),
            ]
        }
        interface.on("Purge", pool: pool) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .write)
            let before = try arguments.optionalString("before").map { try Token($0) }
            let (report, oldest) = try store.hub.purge(
                store.store(), before: before, force: arguments.flag("force"))
            return [
                "transactions": .integer(Int64(report.transactions)),
                "changes": .integer(Int64(report.changes)), "token": .string(oldest.description),
            ]
        }
        interface.onStream("History", requiresMore: false) { [pool] call, stream in
            let arguments = Arguments(call)
            let gate = DrainGate(stream)
            var pager = HistoryPager(try arguments.query())
            var isLast = false
            while !isLast {
                let before = pager
                let (page, after) = try await pool.runIfActive {
                    let store = try registry.store(
                        arguments.store, for: arguments.peer, need: .read)
                    var pager = before
                    return (try pager.next(from: store.store()), pager)
                }
                pager = after
                isLast = page.isLast || !call.more
                let reply = page.reply(continues: !isLast, hasNext: !call.more)
                while stream.send(reply) == .overBound {
                    guard await gate.drained() else { return }
                }
            }
        }
    }
}

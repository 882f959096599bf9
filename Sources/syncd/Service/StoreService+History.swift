import SyncClient
import SyncCore
import Varlink

extension StoreService {
    func addHistoryMethods(_ interface: inout ServedInterface) {
        let registry = registry
        on("Head", &interface) { arguments in
            let store = try registry.store(arguments.store, arguments.peer, .read).store()
            return ["token": .string(try store.head().description)]
        }
        on("Count", &interface) { arguments in
            let store = try registry.store(arguments.store, arguments.peer, .read).store()
            let count = try store.count(try arguments.query())
            return [
                "transactions": .integer(Int64(count.transactions)),
                "changes": .integer(Int64(count.changes)),
            ]
        }
        on("Purge", &interface) { arguments in
            let access = try registry.store(arguments.store, arguments.peer, .write)
            let before = try arguments.optionalString("before").map { try Token($0) }
            return try access.hub.purge(
                access.store(), before: before, force: arguments.flag("force"))
        }
        interface.onStream("History", requiresMore: false) { [pool] call, stream in
            let arguments = Arguments(call)
            let gate = DrainGate(stream)
            var pager = HistoryPager(try arguments.query())
            var isLast = false
            while !isLast {
                let before = pager
                let (page, after) = try await pool.runIfActive {
                    let access = try registry.store(arguments.store, arguments.peer, .read)
                    var pager = before
                    return (try pager.next(access.store()), pager)
                }
                pager = after
                isLast = page.isLast || !call.more
                let reply = page.reply(continues: !isLast, tellsNext: !call.more)
                while stream.send(reply) == .overBound {
                    guard await gate.drained() else { return }
                }
            }
        }
    }
}

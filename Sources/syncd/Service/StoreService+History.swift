import SyncClient
import SyncCore
import Varlink

extension StoreService {
    /// The bytes of one answer of `GetValue`.
    private static let sliceBytesMax: Int64 = 1 << 20

    func addHistoryMethods(_ interface: inout ServedInterface) {
        let registry = registry
        interface.on("Head", pool: pool, of: registry) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .read)
                .store()
            return ["token": .string(try store.head().description)]
        }
        interface.on("Count", pool: pool, of: registry) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .read)
                .store()
            let count = try store.count(try arguments.query())
            return [
                "transactions": .integer(Int64(count.transactions)),
                "changes": .integer(Int64(count.changes)),
            ]
        }
        interface.on("GetValue", pool: pool, of: registry) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .read)
                .store()
            let length = min(arguments.integer("length") ?? .max, Self.sliceBytesMax)
            let (bytes, value) = try store.value(
                at: try arguments.reference(),
                offset: Int(clamping: arguments.integer("offset") ?? 0),
                count: Int(clamping: length))
            return value.answer(with: bytes)
        }
        interface.on("Purge", pool: pool, of: registry) { arguments in
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
            var pager = HistoryPager(try arguments.query(), from: try arguments.inside())
            var isLast = false
            while !isLast {
                let before = pager
                let (page, after) = try await pool.run(for: call.peer.uid) {
                    try registry.marked(arguments.store) {
                        let store = try registry.store(
                            arguments.store, for: arguments.peer, need: .read)
                        var pager = before
                        let page = try pager.next(from: store.store())
                        if page.hasParts { store.hub.releaseMemoryLater() }
                        return (page, pager)
                    }
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

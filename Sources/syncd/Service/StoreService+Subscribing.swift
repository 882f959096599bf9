import SyncClient
import SyncCore
import Varlink

extension StoreService {
    func addSubscriptionMethods(_ interface: inout ServedInterface) {
        let registry = registry
        interface.onStream("Subscribe") { [pool] call, stream in
            let arguments = Arguments(call)
            try await pool.run(for: call.peer.uid) {
                let options = try arguments.options()
                try registry.marked(arguments.store) {
                    let store = try registry.store(
                        arguments.store, for: arguments.peer, need: .read)
                    try store.hub.subscribe(options, to: store.opened(), stream: stream)
                }
            }
        }
        interface.on("Hold", pool: pool, of: registry) { arguments in
            let (hub, subscriber) = try Self.find(arguments, in: registry)
            guard let store = registry.permitted(hub, for: arguments.peer, need: .read) else {
                throw Self.noSubscription(try arguments.string("subscription"))
            }
            let held = try hub.marked {
                try hub.hold(
                    try arguments.objects() ?? [], for: subscriber, in: try store.store())
            }
            return ["held": .array(held.map { .object($0.jsonObject) })]
        }
        interface.on("Release", pool: pool, of: registry) { arguments in
            let (hub, subscriber) = try Self.find(arguments, in: registry)
            hub.release(try arguments.objects(), for: subscriber)
            return [:]
        }
    }

    private static func find(
        _ arguments: Arguments, in registry: StoreRegistry
    ) throws -> (StoreHub, Subscriber) {
        let name = try arguments.string("subscription")
        for hub in registry.hubs {
            if let subscriber = hub.subscriber(named: name, of: arguments.peer) {
                return (hub, subscriber)
            }
        }
        throw noSubscription(name)
    }

    private static func noSubscription(_ name: String) -> SyncError {
        SyncError(
            .invalidArgument, "there is no subscription '\(name.prefix(80))'",
            hint: "Use the name from the first reply of Subscribe, while its connection is open")
    }
}

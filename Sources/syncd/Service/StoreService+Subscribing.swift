import SyncClient
import SyncCore
import Varlink

extension StoreService {
    func addSubscriptionMethods(_ interface: inout ServedInterface) {
        let registry = registry
        interface.onStream("Subscribe") { [pool] call, stream in
            try await pool.runIfActive {
                let arguments = Arguments(call)
                let options = try arguments.options()
                let access = try registry.store(arguments.store, arguments.peer, .read)
                try access.hub.subscribe(options, access.opened(), stream)
            }
        }
        on("Hold", &interface) { arguments in
            let (hub, subscriber) = try Self.find(arguments, registry)
            guard let access = registry.usable(hub, arguments.peer, .read) else {
                throw Self.noSubscription(try arguments.string("subscription"))
            }
            let held = try hub.hold(
                try arguments.objects() ?? [], subscriber, try access.store())
            return ["held": .array(held.map { .object($0.jsonObject) })]
        }
        on("Release", &interface) { arguments in
            let (hub, subscriber) = try Self.find(arguments, registry)
            hub.release(try arguments.objects(), subscriber)
            return [:]
        }
    }

    private static func find(
        _ arguments: Arguments, _ registry: StoreRegistry
    ) throws -> (StoreHub, Subscriber) {
        let name = try arguments.string("subscription")
        for hub in registry.hubs {
            if let subscriber = hub.subscriber(named: name, arguments.peer) {
                return (hub, subscriber)
            }
        }
        throw noSubscription(name)
    }

    private static func noSubscription(_ name: String) -> SyncError {
        SyncError(
            .invalidArgument, "there is no subscription '\(name.prefix(80))'",
            hint: "Take the name of the first reply of Subscribe, while its connection lives")
    }
}

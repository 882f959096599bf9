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
                let hub = try registry.hub(arguments.store, arguments.peer, .read)
                try hub.subscribe(options, stream)
            }
        }
        on("Hold", &interface) { arguments in
            let (hub, subscriber) = try Self.find(arguments, registry)
            let held = try hub.hold(try arguments.objects() ?? [], subscriber)
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
        throw SyncError(
            .invalidArgument, "there is no subscription '\(name.prefix(80))'",
            hint: "Take the name of the first reply of Subscribe, while its connection lives")
    }
}

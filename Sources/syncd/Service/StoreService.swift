import NIOCore
import NIOPosix
import SyncClient
import SyncCore
import Varlink

/// The methods of `org.syncd.Store`. Each call is checked against the caller's permissions on the
/// store's file, and runs on the pool, because it waits for SQLite.
struct StoreService: Sendable {
    let registry: StoreRegistry
    let replicator: Replicator
    let pool: NIOThreadPool

    /// The interface with its methods.
    func interface() throws -> ServedInterface {
        var interface = try ServedInterface(StoreInterface.description)
        addStoreMethods(&interface)
        addHistoryMethods(&interface)
        addSubscriptionMethods(&interface)
        addConsumerMethods(&interface)
        return interface
    }

    /// Errors as they are answered; the caller's `InternalFault` never shows more than a reason.
    static let mapError: VarlinkServer.ErrorMapper = { error, _ in
        let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
        return error.varlinkError
    }

    /// Answers a method from the pool.
    func on(
        _ method: String, _ interface: inout ServedInterface,
        _ body: @escaping @Sendable (Arguments) throws -> JSONObject
    ) {
        interface.on(method) { [pool] call in
            try await pool.runIfActive { try body(Arguments(call)) }
        }
    }

    private func addStoreMethods(_ interface: inout ServedInterface) {
        let registry = registry
        on("Track", &interface) { arguments in
            let (store, report) = try registry.track(arguments.trackEntry(), arguments.peer)
            return [
                "store": .object(store.summary().jsonObject),
                "tables": .array(report.entries.map { .object(TableSummary($0).jsonObject) }),
                "repaired": .array(
                    (report.repair?.explanations ?? []).map(JSONValue.string)),
            ]
        }
        on("Untrack", &interface) { arguments in
            let report = try registry.untrack(
                arguments.store, arguments.peer, keepsData: arguments.flag("forget"))
            return ["left": .array(report.leftAlone.map(JSONValue.string))]
        }
        on("List", &interface) { arguments in
            let stores = registry.visible(to: arguments.peer)
            return ["stores": .array(stores.map { .object($0.summary().jsonObject) })]
        }
        interface.on("Status") { [pool, replicator] call in
            var (path, report) = try await pool.runIfActive {
                let arguments = Arguments(call)
                let access = try registry.store(arguments.store, arguments.peer, .read)
                return (access.hub.path, try access.report())
            }
            report.remotes = await replicator.status(of: path)
            return report.jsonObject
        }
        on("Verify", &interface) { arguments in
            let store = try registry.store(arguments.store, arguments.peer, .read).store()
            let findings = try store.verifyCapture()
            let tables = try store.status().entities.map { name in
                TableSummary(name: name, outcome: "tracked")
            }
            return [
                "tables": .array(tables.map { .object($0.jsonObject) }),
                "findings": .array(findings.map { .string($0.explanation) }),
            ]
        }
    }

    private func addConsumerMethods(_ interface: inout ServedInterface) {
        let registry = registry
        on("RegisterConsumer", &interface) { arguments in
            let access = try registry.store(arguments.store, arguments.peer, .read)
            try access.store().register(
                consumer: try arguments.string("name"), kind: try arguments.consumerKind(),
                lease: arguments.integer("lease").map { .seconds($0) })
            return [:]
        }
        on("Acknowledge", &interface) { arguments in
            let access = try registry.store(arguments.store, arguments.peer, .read)
            try access.store().acknowledge(
                consumer: try arguments.string("consumer"),
                try Token(try arguments.string("token")))
            access.hub.digestLater()
            return [:]
        }
        on("RemoveConsumer", &interface) { arguments in
            let access = try registry.store(arguments.store, arguments.peer, .write)
            try access.store().remove(consumer: try arguments.string("consumer"))
            return [:]
        }
        on("Consumers", &interface) { arguments in
            let access = try registry.store(arguments.store, arguments.peer, .read)
            let consumers = try access.store().consumers()
            return ["consumers": .array(consumers.map { .object($0.jsonObject) })]
        }
    }
}

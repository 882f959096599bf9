import SyncClient
import SyncCore
import Varlink

/// The methods of `org.syncd.Store`. Each call is checked against the caller's permissions on the
/// store's file, and runs on a thread of the caller's share, because it waits for SQLite.
struct StoreService: Sendable {
    let registry: StoreRegistry
    let replicator: Replicator
    let pool: WorkPool
    var meters = DaemonMeters()
    /// What the process runs with.
    var configuration = RunningConfiguration()

    /// The interface with its methods.
    func interface() throws -> ServedInterface {
        var interface = try ServedInterface(StoreInterface.description)
        addStoreMethods(&interface)
        addOverview(&interface)
        addHistoryMethods(&interface)
        addSubscriptionMethods(&interface)
        addConsumerMethods(&interface)
        return interface
    }

    /// Errors as they are answered; `InternalFault` never shows more than a reason.
    static let mapError: VarlinkServer.ErrorMapper = { error, _ in
        let error = error as? SyncError ?? SyncError(.internalFault, "\(error)")
        return error.varlinkError
    }

    private func addStoreMethods(_ interface: inout ServedInterface) {
        let registry = registry
        interface.on("Track", pool: pool, of: registry) { arguments in
            let (store, report) = try registry.track(
                arguments.trackEntry(), for: arguments.peer)
            return [
                "store": .object(store.summary().jsonObject),
                "tables": .array(
                    report.entries.map { .object(TableSummary($0, of: report).jsonObject) }),
                "repaired": .array(
                    (report.repair?.explanations ?? []).map(JSONValue.string)),
            ]
        }
        interface.on("Untrack", pool: pool, of: registry) { arguments in
            let report = try registry.untrack(
                arguments.store, for: arguments.peer, keepsData: arguments.flag("forget"))
            return ["left": .array(report.leftAlone.map(JSONValue.string))]
        }
        interface.on("List", pool: pool, of: registry) { arguments in
            let stores = registry.visible(to: arguments.peer)
            return ["stores": .array(stores.map { .object($0.summary().jsonObject) })]
        }
        interface.on("Status") { [pool, replicator] call in
            let arguments = Arguments(call)
            var (path, report) = try await pool.run(for: call.peer.uid) {
                try registry.marked(arguments.store) {
                    let store = try registry.store(
                        arguments.store, for: arguments.peer, need: .read)
                    return (store.hub.path, try store.report())
                }
            }
            report.remotes = await replicator.status(of: path)
            return report.jsonObject
        }
        interface.on("Verify", pool: pool, of: registry) { arguments in
            let permitted = try registry.store(
                arguments.store, for: arguments.peer, need: .read)
            let store = try permitted.store()
            let (findings, unrecorded) = try permitted.findings()
            let tables = try store.status().entities.map { name in
                TableSummary(name: name, outcome: "tracked")
            }
            return [
                "tables": .array(tables.map { .object($0.jsonObject) }),
                "findings": .array(findings.map { .string($0) }),
                "unrecorded": .array(unrecorded.map { .string($0) }),
            ]
        }
    }

    private func addConsumerMethods(_ interface: inout ServedInterface) {
        let registry = registry
        interface.on("RegisterConsumer", pool: pool, of: registry) { arguments in
            let permitted = try registry.store(arguments.store, for: arguments.peer, need: .read)
            let (store, name) = (try permitted.store(), try arguments.string("name"))
            let kind = try arguments.consumerKind()
            try permitted.hub.consumerOwners.register(
                name, of: store, for: permitted.caller(arguments.peer)
            ) {
                try store.register(
                    consumer: name, kind: kind,
                    lease: arguments.integer("lease").map { .seconds($0) })
            }
            permitted.hub.state.noteOwnChange()
            return [:]
        }
        interface.on("Acknowledge", pool: pool, of: registry) { arguments in
            let permitted = try registry.store(arguments.store, for: arguments.peer, need: .read)
            let (store, name) = (try permitted.store(), try arguments.string("consumer"))
            let token = try Token(try arguments.string("token"))
            try permitted.hub.consumerOwners.acknowledge(
                name, of: store, for: permitted.caller(arguments.peer)
            ) { try store.acknowledge(consumer: name, token) }
            permitted.hub.state.noteOwnChange()
            permitted.hub.digestLater()
            return [:]
        }
        interface.on("RemoveConsumer", pool: pool, of: registry) { arguments in
            let permitted = try registry.store(arguments.store, for: arguments.peer, need: .write)
            let (store, name) = (try permitted.store(), try arguments.string("consumer"))
            try store.remove(consumer: name)
            permitted.hub.state.noteOwnChange()
            permitted.hub.consumerOwners.forget(name, of: store)
            return [:]
        }
        interface.on("Consumers", pool: pool, of: registry) { arguments in
            let store = try registry.store(arguments.store, for: arguments.peer, need: .read)
            let consumers = try store.store().consumers()
            return ["consumers": .array(consumers.map { .object($0.jsonObject) })]
        }
    }
}

extension ServedInterface {
    /// Answers a method on a thread of the caller's share.
    ///
    /// - Parameter registry: has the store that the call names.
    mutating func on(
        _ method: String, pool: WorkPool, of registry: StoreRegistry,
        handler: @escaping @Sendable (Arguments) throws -> JSONObject
    ) {
        on(method) { call in
            let arguments = Arguments(call)
            return try await pool.run(for: call.peer.uid) {
                try registry.marked(arguments.store) { try handler(arguments) }
            }
        }
    }
}

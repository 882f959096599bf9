import SyncCore
import Varlink

extension DaemonOverview {
    /// The reply of `Overview`.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "daemon": .object(process.jsonObject),
            "stores": .array(stores.map { .object($0.jsonObject) }),
        ]
        object["reloadFailed"] = reloadFailure.map { .object($0.jsonObject) }
        return object
    }

    /// Reads the reply of `Overview`.
    ///
    /// - Throws: ``SyncError`` with code `badData`.
    public init(_ object: JSONObject) throws {
        let reader = JSONReader(object, of: "an overview")
        self.init(
            process: try Process(json: reader.optional("daemon")),
            stores: try reader.array("stores").map(StoreOverview.init(json:)))
        reloadFailure = try reader.optional("reloadFailed").map(ReloadFailure.init(json:))
    }
}

extension ReloadFailure {
    fileprivate var jsonObject: JSONObject {
        var object: JSONObject = ["time": .string(time.description)]
        object["reason"] = reason.map { .string($0) }
        return object
    }

    fileprivate init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a failed reload")
        self.init(
            reason: try reader.optionalString("reason"), time: try reader.timestamp("time"))
    }
}

extension StoreTrouble {
    fileprivate var jsonObject: JSONObject {
        var object: JSONObject = [
            "work": .string(work.rawValue), "reason": .string(reason),
            "since": .string(since.description),
        ]
        object["hint"] = hint.map { .string($0) }
        return object
    }

    fileprivate init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a trouble of a store")
        self.init(
            Work(rawValue: try reader.string("work")) ?? .other,
            reason: try reader.string("reason"), hint: try reader.optionalString("hint"),
            since: try reader.timestamp("since"))
    }
}

extension DaemonOverview.Process {
    fileprivate var jsonObject: JSONObject {
        [
            "version": .string(version), "started": .string(started.description),
            "clients": .integer(clients), "dropped": .integer(dropped),
            "refused": .integer(refused), "workers": .integer(workers),
            "memoryBytes": .integer(memoryBytes),
        ]
    }

    fileprivate init(json: JSONValue?) throws {
        let reader = try JSONReader(json, of: "the daemon's overview")
        self.init(
            version: try reader.string("version"), started: try reader.timestamp("started"),
            clients: try reader.integer("clients"), dropped: try reader.integer("dropped"),
            refused: try reader.integer("refused"), workers: try reader.integer("workers"),
            memoryBytes: try reader.integer("memoryBytes"))
    }
}

extension StoreOverview {
    /// `type StoreOverview` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "store": .object(store.jsonObject), "databaseBytes": .integer(databaseBytes),
            "walBytes": .integer(walBytes), "notices": .integer(traffic.notices),
            "lagged": .integer(traffic.lagged), "errors": .integer(traffic.errors),
            "latency": .object(traffic.latency.jsonObject),
            "remotes": .array(remotes.map { .object($0.jsonObject) }),
        ]
        object["contents"] = contents.map { .object($0.jsonObject) }
        object["lastError"] = traffic.lastError.map { .string($0) }
        object["lastErrorTime"] = traffic.lastErrorTime.map { .string($0.description) }
        object["troubles"] = .array(troubles.map { .object($0.jsonObject) })
        return object
    }

    init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "the overview of a store")
        self.init(
            store: try StoreSummary(json: reader.optional("store")),
            databaseBytes: try reader.integer("databaseBytes"),
            walBytes: try reader.integer("walBytes"))
        contents = try reader.optional("contents").map(Contents.init(json:))
        traffic.notices = try reader.integer("notices")
        traffic.lagged = try reader.integer("lagged")
        traffic.errors = try reader.integer("errors")
        traffic.latency = try LatencyHistogram(json: reader.optional("latency"))
        traffic.lastError = try reader.optionalString("lastError")
        traffic.lastErrorTime = try reader.optionalString("lastErrorTime").flatMap { Timestamp($0) }
        remotes = try reader.array("remotes").map(RemoteStatus.init(json:))
        // An older daemon says nothing of them.
        troubles = try (reader.optional("troubles")?.array ?? []).map(StoreTrouble.init(json:))
    }
}

extension StoreOverview.Contents {
    fileprivate var jsonObject: JSONObject {
        [
            "pending": .integer(pendingRows), "conflicts": .integer(conflicts),
            "consumers": .array(consumers.map { .object($0.jsonObject) }),
            "replicas": .array(replicas.map { .object($0.jsonObject) }),
        ]
    }

    fileprivate init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "the contents of a store")
        self.init(
            pendingRows: try reader.integer("pending"), conflicts: try reader.integer("conflicts"),
            consumers: try reader.array("consumers").map(Consumer.init(json:)),
            replicas: try reader.array("replicas").map(ReplicaLag.init(json:)))
    }
}

extension ReplicaLag {
    /// `type ReplicaLag` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "replica": .string(replica.description), "behind": .integer(behind),
            "absent": .bool(isAbsent),
        ]
        object["name"] = name.map { .string($0) }
        object["behindSince"] = behindSince.map { .string($0.description) }
        return object
    }

    fileprivate init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a replica")
        self.init(
            replica: try reader.require("replica", as: ReplicaID(try reader.string("replica"))),
            name: try reader.optionalString("name"), behind: try reader.integer("behind"),
            behindSince: try reader.optionalString("behindSince").flatMap { Timestamp($0) },
            isAbsent: try reader.bool("absent"))
    }
}

extension LatencyHistogram {
    fileprivate var jsonObject: JSONObject {
        [
            "bounds": .array(bounds.map(JSONValue.integer)),
            "counts": .array(counts.map(JSONValue.integer)), "sum": .integer(sum),
        ]
    }

    fileprivate init(json: JSONValue?) throws {
        let reader = try JSONReader(json, of: "a latency")
        self = try reader.require(
            "counts",
            as: LatencyHistogram(
                bounds: try reader.array("bounds").compactMap(\.integer),
                counts: try reader.array("counts").compactMap(\.integer),
                sum: try reader.integer("sum")))
    }
}

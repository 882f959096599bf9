import SyncCore
import Varlink

extension StoreSummary {
    /// `type Store` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "path": .string(path), "state": .string(state.rawValue),
            "subscribers": .integer(Int64(subscribers)),
        ]
        object["id"] = id.map { .string($0.description) }
        object["replica"] = replica.map { .string($0.description) }
        object["epoch"] = head.map { .integer($0.epoch) }
        object["token"] = head.map { .string($0.description) }
        object["error"] = error.map { .object($0.failure) }
        return object
    }

    init(json: JSONValue?) throws {
        let reader = try JSONReader(json, of: "a store")
        self.init(
            path: try reader.string("path"),
            state: try reader.require("state", as: State(rawValue: try reader.string("state"))),
            id: try reader.optionalString("id").flatMap { StoreID($0) },
            replica: try reader.optionalString("replica").flatMap { ReplicaID($0) },
            head: try reader.optionalToken("token"),
            subscribers: Int(try reader.integer("subscribers")),
            error: try reader.optional("error").map(SyncError.init(failure:)))
    }
}

extension SyncError {
    /// `type Failure` of the interface.
    var failure: JSONObject {
        var object: JSONObject = ["code": .string(code.name), "reason": .string(reason)]
        object["hint"] = hint.map { .string($0) }
        object["path"] = path.map { .string($0) }
        return object
    }

    init(failure json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a failure")
        self.init(
            ErrorTable.code(named: try reader.string("code")) ?? .internalFault,
            try reader.string("reason"), path: try reader.optionalString("path"),
            hint: try reader.optionalString("hint"))
    }
}

extension TableSummary {
    /// `type Table` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = ["name": .string(name), "outcome": .string(outcome)]
        object["reason"] = reason.map { .string($0) }
        object["hint"] = hint.map { .string($0) }
        return object
    }

    init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a table")
        self.init(
            name: try reader.string("name"), outcome: try reader.string("outcome"),
            reason: try reader.optionalString("reason"), hint: try reader.optionalString("hint"))
    }
}

extension StoreReport {
    /// The reply of `Status`.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "store": .object(store.jsonObject), "pending": .integer(pending),
            "databaseBytes": .integer(databaseBytes), "walBytes": .integer(walBytes),
            "entities": .array(entities.map { .object($0.jsonObject) }),
            "consumers": .array(consumers.map { .object($0.jsonObject) }),
            "findings": .array(findings.map(JSONValue.string)),
            "remotes": .array(remotes.map { .object($0.jsonObject) }),
        ]
        object["compared"] = compared.map { .string($0.description) }
        if ignoresRemotes { object["ignoresRemotes"] = .bool(true) }
        return object
    }

    init(_ object: JSONObject) throws {
        let reader = JSONReader(object, of: "a status")
        self.init(
            store: try StoreSummary(json: reader.optional("store")),
            pending: try reader.integer("pending"),
            databaseBytes: try reader.integer("databaseBytes"),
            walBytes: try reader.integer("walBytes"),
            entities: try reader.array("entities").map(TableSummary.init(json:)),
            consumers: try reader.array("consumers").map(Consumer.init(json:)),
            findings: try reader.strings("findings"))
        compared = try reader.optionalString("compared").flatMap { Timestamp($0) }
        ignoresRemotes = reader.optional("ignoresRemotes")?.bool ?? false
        guard reader.optional("remotes") != nil else { return }
        remotes = try reader.array("remotes").map(RemoteStatus.init(json:))
    }
}

extension RemoteStatus {
    /// `type Remote` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "name": .string(name), "url": .string(url), "state": .string(state.rawValue),
        ]
        object["lastSync"] = lastSync.map { .string($0.description) }
        object["behindSince"] = behindSince.map { .string($0.description) }
        object["error"] = error.map { .string($0) }
        object["hint"] = hint.map { .string($0) }
        object["behind"] = behind.map { .integer($0) }
        object["failingSince"] = failingSince.map { .string($0.description) }
        object["failures"] = .integer(failures)
        return object
    }

    init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a remote")
        self.init(
            name: try reader.string("name"), url: try reader.string("url"),
            state: try reader.require("state", as: State(rawValue: try reader.string("state"))),
            lastSync: try reader.optionalString("lastSync").flatMap { Timestamp($0) },
            behindSince: try reader.optionalString("behindSince").flatMap { Timestamp($0) },
            error: try reader.optionalString("error"))
        hint = try reader.optionalString("hint")
        behind = try reader.optionalInteger("behind")
        failingSince = try reader.optionalString("failingSince").flatMap { Timestamp($0) }
        failures = try reader.optionalInteger("failures") ?? 0
    }
}

extension Consumer {
    /// `type Consumer` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = [
            "name": .string(name), "kind": .string(kind.rawValue),
            "acknowledged": .integer(acknowledged),
        ]
        object["lease"] = lease.map { .integer($0.components.seconds) }
        object["lastSeen"] = .string(lastSeen.description)
        object["created"] = .string(created.description)
        object["lapsed"] = .bool(isLapsed(at: .now()))
        return object
    }

    /// Reads `type Consumer`.
    ///
    /// - Throws: ``SyncError`` with code `badData`.
    public init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a consumer")
        self.init(
            name: try reader.string("name"),
            kind: try reader.require("kind", as: Kind(rawValue: try reader.string("kind"))),
            acknowledged: try reader.integer("acknowledged"),
            lease: try reader.optionalInteger("lease").map { .seconds($0) },
            lastSeen: try reader.timestamp("lastSeen"), created: try reader.timestamp("created"))
    }
}

extension Setting {
    /// `type Setting` of the interface.
    public var jsonObject: JSONObject {
        var object: JSONObject = ["name": .string(name), "value": .string(value)]
        object["source"] = source.map { .string($0) }
        return object
    }

    init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a setting")
        self.init(
            name: try reader.string("name"), value: try reader.string("value"),
            source: try reader.optionalString("source"))
    }
}

extension HeldObject {
    /// `type Held` of the interface.
    public var jsonObject: JSONObject {
        var json: JSONObject = ["object": .string(object.path), "present": .bool(isPresent)]
        if isPresent, object.incarnation != 0 { json["incarnation"] = .integer(object.incarnation) }
        return json
    }

    init(json: JSONValue, store: StoreID) throws {
        let reader = try JSONReader(json, of: "a held object")
        self.init(object: try reader.object(in: store), isPresent: try reader.bool("present"))
    }
}

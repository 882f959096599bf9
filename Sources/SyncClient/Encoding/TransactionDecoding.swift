import SyncCore
import Varlink

extension Transaction {
    /// Reads what ``json`` wrote.
    ///
    /// Positions in the log are not on the wire: ``first`` is the number, and ``Change/seq`` counts
    /// from 1 within the transaction, or within its part, in order.
    ///
    /// - Throws: ``SyncError`` with code `badData` or `invalidToken`.
    public init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a transaction")
        let token = try reader.token("token")
        let changes = try reader.array("changes").enumerated().map { index, change in
            try Change(json: change, store: token.store, seq: Int64(index + 1))
        }
        self.init(
            token: token, first: token.number, timestamp: try reader.timestamp("timestamp"),
            author: try reader.optionalString("author"),
            context: try reader.optionalString("context"),
            process: try reader.optional("process").map(Process.init(json:)),
            origin: try Self.origin(reader), flags: try Self.flags(reader), changes: changes,
            part: try reader.optional("part").map(Part.init(json:)))
    }

    static func origin(_ reader: JSONReader) throws -> Origin? {
        let origin = try reader.string("origin")
        if origin == "local" { return nil }
        let time = try reader.optionalString("originTimestamp").flatMap { Timestamp($0) }
        return Origin(
            replica: try reader.require("origin", as: ReplicaID(origin)),
            number: try reader.optionalInteger("originNumber") ?? 0,
            time: time ?? Timestamp(milliseconds: 0))
    }

    private static func flags(_ reader: JSONReader) throws -> Flags {
        var flags: Flags = []
        let known: [Flags] = [
            .coalesced, .recovered, .remote, .repair, .authorUncertain, .renumbered,
        ]
        // A newer daemon may send names that this version does not know: they are ignored.
        for name in try reader.strings("flags") {
            for flag in known where flag.names == [name] { flags.insert(flag) }
        }
        return flags
    }
}

extension Transaction.Part {
    init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a part of a transaction")
        self.init(index: Int(try reader.integer("index")), isLast: try reader.bool("isLast"))
    }
}

extension Transaction.Process {
    init(json: JSONValue) throws {
        let reader = try JSONReader(json, of: "a process")
        self.init(pid: try reader.integer("pid"), name: try reader.optionalString("name"))
    }
}

extension Change {
    init(json: JSONValue, store: StoreID, seq: Int64) throws {
        let reader = try JSONReader(json, of: "a change")
        self.init(
            seq: seq, object: try reader.object(in: store),
            kind: try reader.require("kind", as: Kind(name: try reader.string("kind"))),
            properties: try reader.strings("properties"),
            tombstone: try reader.optional("tombstone").map(NamedValues.init(json:)),
            oldValues: try reader.optional("oldValues").map(NamedValues.init(json:)),
            cause: try reader.cause(in: store))
    }
}

extension NamedValues {
    init(json: JSONValue) throws {
        guard let object = json.object else {
            throw SyncError(.badData, "values are not a JSON object")
        }
        var pairs: [Pair] = []
        var references: [ValueReference] = []
        for member in object.members {
            if let reference = try ValueReference(json: member.value) {
                references.append(reference)
            } else {
                pairs.append(Pair(name: member.name, value: try Value(json: member.value)))
            }
        }
        self.init(pairs, references: references)
    }
}

extension JSONReader {
    /// The object that `object` and `incarnation` name.
    func object(in store: StoreID) throws -> ObjectID {
        let name = try require("object", as: ObjectID.parse(path: try string("object")))
        return ObjectID(
            store: store, entity: name.entity, key: name.key,
            incarnation: try optionalInteger("incarnation") ?? 0)
    }

    /// `cause`; direct when it is absent.
    func cause(in store: StoreID) throws -> Change.Cause {
        guard let json = optional("cause") else { return .direct }
        let reader = try JSONReader(json, of: "a cause")
        switch try reader.string("kind") {
        case "cascade": return .cascade(of: try reader.object(in: store))
        case "renumbered": return .renumbered(try reader.object(in: store))
        case "replace": return .replace
        case "merge": return .merge
        default: throw bad("cause")
        }
    }
}

import SyncCore
import Varlink

extension HistoryQuery {
    /// The query on the wire (`type Query`); without what is not set.
    public var jsonObject: JSONObject {
        var object = JSONObject()
        object["after"] = after.map { .string($0.description) }
        object["upTo"] = upTo.map { .string($0.description) }
        object["since"] = since.map { .string($0.description) }
        object["until"] = until.map { .string($0.description) }
        object["authors"] = Self.json(authors)
        object["excludedAuthors"] = Self.json(excludedAuthors)
        object["context"] = context.map { .string($0) }
        object["entities"] = Self.json(entities)
        object["object"] = self.object.map {
            .string(ObjectID(store: .none, entity: $0.entity, key: $0.key).path)
        }
        object["kinds"] = Self.json(kinds.map(\.name).sorted())
        object["properties"] = Self.json(properties)
        object["limit"] = limit.map { .integer(Int64($0)) }
        if reverse { object["reverse"] = true }
        return object
    }

    /// Reads what ``jsonObject`` wrote.
    ///
    /// - Throws: ``SyncError`` with code `invalidArgument`, `invalidToken` or `badData`.
    public init(jsonObject object: JSONObject) throws {
        self.init()
        let reader = JSONReader(object, of: "a query")
        after = try reader.optionalToken("after")
        upTo = try reader.optionalToken("upTo")
        since = try reader.optionalString("since").map(Self.time)
        until = try reader.optionalString("until").map(Self.time)
        authors = try reader.strings("authors")
        excludedAuthors = try reader.strings("excludedAuthors")
        context = try reader.optionalString("context")
        entities = try reader.strings("entities")
        self.object = try reader.optionalString("object").map(ObjectName.init(path:))
        kinds = Set(try reader.strings("kinds").map(Self.kind))
        properties = try reader.strings("properties")
        if let limit = try reader.optionalInteger("limit") {
            guard limit >= 0 else {
                throw SyncError(.invalidArgument, "the limit \(limit) is negative")
            }
            self.limit = Int(clamping: limit)
        }
        reverse = try reader.bool("reverse")
    }

    private static func json(_ list: [String]) -> JSONValue? {
        list.isEmpty ? nil : .array(list.map(JSONValue.string))
    }

    private static func time(_ text: String) throws -> Timestamp {
        guard let time = Timestamp(text) else {
            throw SyncError(
                .invalidArgument, "'\(text.prefix(80))' is not a date",
                hint: "Write 2026-01-31 or 2026-01-31T12:00:00Z")
        }
        return time
    }

    private static func kind(_ text: String) throws -> Change.Kind {
        guard let kind = Change.Kind(name: text) else {
            throw SyncError(
                .invalidArgument, "'\(text.prefix(80))' is not a kind of change",
                hint: "Kinds are insert, update and delete")
        }
        return kind
    }
}

extension StoreID {
    /// A placeholder where a path is made and the store does not matter.
    static let none = StoreID("00000000000000000000000000000000")!
}

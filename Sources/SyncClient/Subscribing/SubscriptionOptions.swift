import SyncCore
import Varlink

/// What a subscriber gets.
public struct SubscriptionOptions: Sendable, Hashable {
    /// Begin after this position, with what was missed since; nil: with what is committed from now
    /// on.
    public var after: Token?
    /// The transactions and changes to send: `entities`, `kinds`, `properties`, `authors` and
    /// `excludedAuthors` are used, the rest is ignored.
    public var filter = HistoryQuery()
    /// Only changes of objects that the subscription holds.
    public var heldOnly = false
    /// Without the transactions that this process marked as its own.
    public var excludesOwn = false
    /// Objects to hold from the start.
    public var hold: Set<ObjectName> = []
    /// False: only notices about held objects and the store.
    public var transactions = true
    /// How large a transaction may be that is joined from its parts.
    public var joining = JoinLimits()

    /// All transactions and notices, from `after` or from now on.
    public init(after: Token? = nil) { self.after = after }

    /// The parameters of `Subscribe`, except the store.
    public var jsonObject: JSONObject {
        var object = JSONObject()
        object["after"] = after.map { .string($0.description) }
        var filter = self.filter.jsonObject
        for name in ["after", "upTo", "since", "until", "context", "object", "limit", "reverse"] {
            filter[name] = nil
        }
        if heldOnly { filter["held"] = true }
        if !filter.isEmpty { object["filter"] = .object(filter) }
        if excludesOwn { object["excludeOwn"] = true }
        if !hold.isEmpty { object["hold"] = .array(hold.map { .string($0.path) }) }
        if !transactions { object["transactions"] = false }
        return object
    }

    /// Reads the parameters of `Subscribe`.
    ///
    /// - Throws: ``SyncError`` with code `invalidArgument`, `invalidToken` or `badData`.
    public init(jsonObject object: JSONObject) throws {
        let reader = JSONReader(object, of: "a subscription")
        after = try reader.optionalToken("after")
        if let filter = reader.optional("filter")?.object {
            self.filter = try HistoryQuery(jsonObject: filter)
            heldOnly = filter["held"]?.bool ?? false
        }
        excludesOwn = try reader.bool("excludeOwn")
        hold = Set(try reader.strings("hold").map { try .init(held: $0) })
        transactions = reader.optional("transactions")?.bool ?? true
    }
}

extension ObjectName {
    /// `Album/348`, as ``init(path:)`` reads it.
    public var path: String { ObjectID(store: .none, entity: entity, key: key).path }

    /// Reads `Album/348` or `Album/348#7`: the incarnation is ignored.
    ///
    /// - Throws: ``SyncError`` with code `invalidArgument`.
    public init(held text: String) throws {
        try self.init(path: String(text.prefix { $0 != "#" }))
    }
}

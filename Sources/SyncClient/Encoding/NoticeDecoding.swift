import SyncCore
import Varlink

extension Notice {
    /// Reads what ``json`` wrote, except a bare transaction.
    ///
    /// - Parameter store: the store that objects belong to.
    /// - Returns: nil for a kind that this version does not know.
    /// - Throws: ``SyncError`` with code `badData`.
    init?(json: JSONValue, store: StoreID) throws {
        let member = json.object?.members.first { !$0.value.isNull }
        guard let member else { throw SyncError(.badData, "a notice has no kind") }
        if member.name == "transaction" {
            self = .transaction(try Transaction(json: member.value))
            return
        }
        let reader = try JSONReader(member.value, of: "a notice")
        switch member.name {
        case "gone":
            self = .gone(
                Gone(
                    object: try reader.object(in: store),
                    tombstone: try reader.optional("tombstone").map(NamedValues.init(json:)),
                    cause: try reader.cause(in: store), by: try reader.by()))
        case "changed":
            self = .changed(
                Changed(
                    object: try reader.object(in: store),
                    properties: try reader.strings("properties"),
                    oldValues: try reader.optional("oldValues").map(NamedValues.init(json:)),
                    by: try reader.require("by", as: try reader.by())))
        case "replaced":
            self = .replaced(Replaced(object: try reader.object(in: store), by: try reader.by()))
        case "lagged": self = .lagged(try reader.token("token"))
        case "storeReplaced":
            self = .storeReplaced(
                path: try reader.string("path"),
                store: try reader.require("store", as: StoreID(try reader.string("store"))),
                token: try reader.token("token"))
        case "storeRemoved":
            self = .storeRemoved(
                path: try reader.string("path"), reason: try reader.optionalString("reason"))
        case "storeReturned":
            self = .storeReturned(
                path: try reader.string("path"), token: try reader.token("token"))
        case "schemaChanged": self = .schemaChanged(entities: try reader.strings("entities"))
        case "historyPurged": self = .historyPurged(try reader.token("token"))
        default: return nil
        }
    }
}

extension JSONReader {
    fileprivate func by() throws -> TransactionHead? {
        guard let json = optional("by") else { return nil }
        let reader = try JSONReader(json, of: "the writer of a change")
        return TransactionHead(
            token: try reader.token("token"), timestamp: try reader.timestamp("timestamp"),
            author: try reader.optionalString("author"),
            context: try reader.optionalString("context"),
            process: try reader.optional("process").map(Transaction.Process.init(json:)),
            origin: try Transaction.origin(reader)?.replica)
    }
}

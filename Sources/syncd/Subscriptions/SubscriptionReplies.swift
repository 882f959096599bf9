import SyncClient
import SyncCore
import SyncStorage
import Varlink

/// The replies of `Subscribe`, encoded.
enum SubscriptionReplies {
    /// Where the stream begins, and the objects it holds.
    static func first(
        _ subscriber: Subscriber, token: Token, head: Token, held: [HeldObject]
    ) -> EncodedReply {
        var object: JSONObject = [
            "subscription": .string(subscriber.name), "head": .string(head.description),
        ]
        if !held.isEmpty { object["held"] = .array(held.map { .object($0.jsonObject) }) }
        object["token"] = .string(token.description)
        return EncodedReply(object, continues: true)
    }

    /// A transaction with what it did to held objects. Nil transaction: only the notices are
    /// wanted. Nil token: further parts of the transaction follow.
    static func transaction(
        _ transaction: Transaction?, token: Token?, notices: [Notice] = []
    ) -> EncodedReply {
        EncodedReply(continues: true) { writer in
            writer.beginObject()
            if let transaction {
                writer.name("transaction")
                writer.write(transaction)
            }
            if !notices.isEmpty { write(notices, to: &writer) }
            if let token {
                writer.name("token")
                writer.write(string: token.description)
            }
            writer.endObject()
        }
    }

    /// A notice about the store. Token: where to resume, when the notice moves that.
    static func notice(_ notice: Notice, token: Token? = nil) -> EncodedReply {
        EncodedReply(continues: true) { writer in
            writer.beginObject()
            write([notice], to: &writer)
            if let token {
                writer.name("token")
                writer.write(string: token.description)
            }
            writer.endObject()
        }
    }

    /// Moves the position of a subscriber that got nothing.
    static func position(_ token: Token) -> EncodedReply {
        EncodedReply(["token": .string(token.description)], continues: true)
    }

    private static func write(_ notices: [Notice], to writer: inout JSONWriter) {
        writer.name("notices")
        writer.beginArray()
        for notice in notices { writer.write(notice) }
        writer.endArray()
    }

    /// What a transaction did to the objects that are held, in its order.
    static func notices(
        of transaction: Transaction, isHeld: (ObjectName) -> Bool
    ) -> [Notice] {
        var notices: [Notice] = []
        var head: TransactionHead?
        for change in transaction.changes where isHeld(ObjectName(foldedNameOf: change.object)) {
            let by = head ?? TransactionHead(transaction)
            head = by
            switch change.kind {
            case .insert:
                notices.append(.replaced(.init(object: change.object, by: by)))
            case .update:
                notices.append(
                    .changed(
                        .init(
                            object: change.object, properties: change.properties,
                            oldValues: change.oldValues, by: by)))
            case .delete:
                notices.append(
                    .gone(
                        .init(
                            object: change.object, tombstone: change.tombstone,
                            cause: change.cause, by: by)))
            }
        }
        return notices
    }
}

import SyncCore
import Varlink

/// One reply of `Subscribe`.
struct SubscriptionReply {
    /// The name for `Hold` and `Release`; in the first reply.
    let name: String?
    /// The end of history when the stream began; in the first reply.
    let head: Token?
    /// Where to resume after this reply.
    let token: Token?
    let transaction: Transaction?
    let notices: [Notice]

    /// - Parameter store: the store of the reply before; a first reply needs none.
    init(_ object: JSONObject, store: StoreID?) throws {
        let reader = JSONReader(object, of: "a reply of Subscribe")
        name = try reader.optionalString("subscription")
        head = try reader.optionalToken("head")
        let token = try reader.optionalToken("token")
        self.token = token
        transaction = try reader.optional("transaction").map(Transaction.init(json:))
        let notices = try reader.array("notices")
        guard !notices.isEmpty else {
            self.notices = []
            return
        }
        guard let store = token?.store ?? store else {
            throw SyncError(.badData, "a notice came before the subscription's first reply")
        }
        self.notices = try notices.compactMap { try Notice(json: $0, store: store) }
    }
}

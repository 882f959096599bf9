import SyncClient
import SyncCore
import Varlink

/// Reads a query's transactions in pages, each from a snapshot of its own: a long history neither
/// fills the memory nor keeps the store's other queries waiting.
struct HistoryPager: Sendable {
    /// A page ends at either limit.
    private static let transactionsMax = 500
    private static let bytesMax = 256 << 10

    /// Transactions as JSON.
    struct Page: Sendable {
        fileprivate(set) var transactions: [[UInt8]] = []
        fileprivate(set) var last: Token?
        /// The query finds nothing after this page.
        fileprivate(set) var isLast = true

        /// - Parameter hasNext: the reply names the next page, for a caller that asks for each
        ///   page.
        func reply(continues: Bool, hasNext: Bool) -> EncodedReply {
            EncodedReply(continues: continues) { writer in
                writer.beginObject()
                writer.name("transactions")
                writer.beginArray()
                for json in transactions { writer.write(encoded: json) }
                writer.endArray()
                if hasNext, !isLast, let last {
                    writer.name("next")
                    writer.write(string: last.description)
                }
                writer.endObject()
            }
        }
    }

    private var query: HistoryQuery
    /// Backwards: the last transaction of the page before, which `upTo` includes.
    private var shown: Int64?

    init(_ query: HistoryQuery) { self.query = query }

    /// The next page; blocks.
    ///
    /// - Throws: ``SyncError`` as ``Store/forEachTransaction(_:_:)`` does.
    mutating func next(from store: Store) throws -> Page {
        let countMax = min(query.limit ?? .max, Self.transactionsMax)
        var page = Page()
        guard countMax > 0 else { return page }
        var bytes = 0
        var scan = query
        // One more shows whether there is another page, and one may be shown already.
        scan.limit = countMax + 2
        let shown = shown
        try store.forEachTransaction(matching: scan) { transaction in
            if transaction.number == shown { return true }
            if page.transactions.count == countMax || bytes >= Self.bytesMax {
                page.isLast = false
                return false
            }
            let json = transaction.json
            bytes += json.count
            page.transactions.append(json)
            page.last = transaction.token
            return true
        }
        advance(past: &page)
        return page
    }

    private mutating func advance(past page: inout Page) {
        if let limit = query.limit {
            query.limit = limit - page.transactions.count
            if query.limit == 0 { page.isLast = true }
        }
        guard let last = page.last else { return }
        if query.reverse {
            query.upTo = last
            shown = last.number
        } else {
            query.after = last
        }
    }
}

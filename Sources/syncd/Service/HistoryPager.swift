import SyncClient
import SyncCore
import Varlink

/// Reads a query's transactions in pages, each from a snapshot of its own: a long history neither
/// fills the memory nor keeps the store's other queries waiting. A page may end inside of a large
/// transaction.
struct HistoryPager: Sendable {
    /// A page ends at either limit.
    private static let transactionsMax = 500
    private static let bytesMax = 256 << 10

    /// Transactions as JSON.
    struct Page: Sendable {
        fileprivate(set) var transactions: [[UInt8]] = []
        /// The token to continue after.
        fileprivate(set) var last: Token?
        /// It ends with a part that is not the last.
        fileprivate(set) var inside: PartPosition?
        fileprivate(set) var hasParts = false
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
                if hasNext, !isLast {
                    if let last {
                        writer.name("next")
                        writer.write(string: last.description)
                    }
                    if let inside {
                        writer.name("inside")
                        writer.write(inside.jsonObject)
                    }
                }
                writer.endObject()
            }
        }
    }

    private var query: HistoryQuery
    /// In the next transaction: what of it was shown.
    private var inside: PartPosition?
    /// Backwards: the last transaction of the page before, which `upTo` includes.
    private var shown: Int64?

    /// - Parameter inside: where to continue inside of the first transaction.
    init(_ query: HistoryQuery, from inside: PartPosition? = nil) {
        self.query = query
        self.inside = inside
    }

    /// The next page; blocks.
    ///
    /// - Throws: ``SyncError`` as ``Store/forEachTransaction(matching:inParts:from:_:)`` does.
    mutating func next(from store: Store) throws -> Page {
        let countMax = min(query.limit ?? .max, Self.transactionsMax)
        var page = Page()
        guard countMax > 0 else { return page }
        var bytes = 0
        var count = 0
        var end: Transaction?
        var scan = query
        // One more shows whether there is another page, and one may be shown already.
        scan.limit = countMax + 2
        let shown = shown
        try store.forEachTransaction(matching: scan, inParts: .message, from: inside) { part in
            if part.number == shown { return true }
            if count == countMax || bytes >= Self.bytesMax {
                page.isLast = false
                return false
            }
            let json = part.json
            bytes += json.count
            page.transactions.append(json)
            if part.isComplete {
                count += 1
                end = part
            }
            page.hasParts = page.hasParts || part.part != nil
            page.inside = PartPosition(after: part)
            return true
        }
        advance(past: &page, count: count, end: end)
        return page
    }

    /// - Parameter end: the last transaction that the page completes.
    private mutating func advance(past page: inout Page, count: Int, end: Transaction?) {
        if let limit = query.limit {
            query.limit = limit - count
            if query.limit == 0 { page.isLast = true }
        }
        inside = page.inside
        if let end {
            if query.reverse {
                query.upTo = end.token
                shown = end.number
            } else {
                query.after = end.token
            }
        }
        page.last = query.reverse ? query.upTo : query.after
    }
}

import SyncStorage
import SyncValues

/// The part of `syncd_transaction` that a query can reach, as SQL.
struct NumberRange {
    let after: Int64
    let upTo: Int64

    init(_ query: HistoryQuery) {
        after = query.after?.number ?? 0
        upTo = query.upTo?.number ?? .max
    }

    private static let headers = """
        SELECT t.number, t.first, t.time, t.pid, t.flags, t.origin, w.author, w.context, w.process
        FROM syncd_transaction t LEFT JOIN syncd_who w ON w.id = t.who
        """

    /// The header of the transaction of one number.
    static let oneSQL = headers + " WHERE t.number = ?1"

    func sql(reverse: Bool) -> String {
        """
        \(Self.headers)
        WHERE t.number > ?1 AND t.number <= ?2 ORDER BY t.number \(reverse ? "DESC" : "ASC")
        """
    }

    func bind(to statement: Statement) {
        statement.bind(1, after)
        statement.bind(2, upTo)
    }

    /// Nothing but one transaction, if it lies in the range.
    func bind(to statement: Statement, only number: Int64) {
        // `number > ?1` lets the one number pass, or none.
        statement.bind(1, number > after ? number - 1 : .max)
        statement.bind(2, min(upTo, number))
    }
}

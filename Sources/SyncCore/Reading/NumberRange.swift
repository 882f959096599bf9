import SyncStorage

/// The part of `syncd_transaction` that a query can reach, as SQL.
struct NumberRange {
    let after: Int64
    let upTo: Int64

    init(_ query: HistoryQuery) {
        after = query.after?.number ?? 0
        upTo = query.upTo?.number ?? .max
    }

    /// The header of the transaction of one number.
    static let oneSQL = TransactionTable.headers + " WHERE t.number = ?1"

    func sql(reverse: Bool) -> String {
        """
        \(TransactionTable.headers)
        WHERE t.number > ?1 AND t.number <= ?2 ORDER BY t.number \(reverse ? "DESC" : "ASC")
        """
    }

    func bind(to statement: Statement) {
        statement.bind(after, at: 1)
        statement.bind(upTo, at: 2)
    }

    /// Nothing but one transaction, if it lies in the range.
    func bind(to statement: Statement, only number: Int64) {
        // `number > ?1` lets the one number pass, or none.
        statement.bind(number > after ? number - 1 : .max, at: 1)
        statement.bind(min(upTo, number), at: 2)
    }
}

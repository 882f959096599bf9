import SyncCore

/// Transactions as lines of text, where a large one comes in parts: they are shown as one.
struct PartText {
    private(set) var text: TransactionText
    private var shown = 0
    private var hidden = 0

    init(_ text: TransactionText) { self.text = text }

    /// How many changes of the next part are shown.
    func shownCount(of transaction: Transaction) -> Int {
        let isNew = transaction.part.map { $0.index == 0 } ?? true
        return min(transaction.changes.count, text.changesMax - (isNew ? 0 : shown))
    }

    /// The same with new values, by ``Change/seq``.
    mutating func lines(
        _ transaction: Transaction, new: [Int64: NamedValues]?
    ) -> [String] {
        text.new = new
        return lines(transaction)
    }

    /// The lines of a transaction, or of the next part of one.
    mutating func lines(_ transaction: Transaction) -> [String] {
        guard let part = transaction.part else { return text.lines(transaction) }
        var lines: [String] = []
        if part.index == 0 {
            (shown, hidden) = (0, 0)
            lines.append(text.head(transaction))
        }
        let new = transaction.changes.prefix(text.changesMax - shown)
        lines += new.map { "    " + text.line($0) }
        shown += new.count
        hidden += transaction.changes.count - new.count
        return part.isLast ? lines + text.hiddenLine(hidden) : lines
    }
}

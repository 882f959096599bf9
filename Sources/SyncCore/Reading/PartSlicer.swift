/// Gives the matching changes of one transaction to a reader: whole, or as parts where they exceed
/// the limits. A part is given when the change after it has come, so that the last one is known.
struct PartSlicer {
    private let query: HistoryQuery
    private let limits: PartLimits
    private let header: Transaction
    private var changes: [Change] = []
    private var bytes = 0
    private var index: Int

    /// - Parameter header: the transaction without its changes.
    init(_ header: Transaction, matching query: HistoryQuery, in delivery: Delivery) {
        self.header = header
        self.query = query
        limits = delivery.limits
        index = delivery.position(in: header.number)?.index ?? 0
    }

    /// Takes the next change; those that do not match are passed over.
    ///
    /// - Returns: false when `body` stopped it.
    /// - Throws: what `body` throws.
    mutating func add(
        _ change: Change, givingTo body: (Transaction) throws -> Bool
    ) throws -> Bool {
        guard query.matches(change) else { return true }
        var change = change
        if let bytesMax = limits.valueBytesMax {
            change = change.replacingLargeValues(beyond: bytesMax, of: header.number)
        }
        let size = limits.bytesMax == .max ? 0 : change.jsonBytes
        if !changes.isEmpty, changes.count >= limits.changesMax || bytes + size > limits.bytesMax {
            guard try give(isLast: false, to: body) else { return false }
        }
        changes.append(change)
        bytes += size
        return true
    }

    /// Gives what is left.
    ///
    /// - Returns: false when `body` stopped it.
    /// - Throws: what `body` throws.
    mutating func finish(givingTo body: (Transaction) throws -> Bool) throws -> Bool {
        // A transaction that has no changes at all is given to a query that chooses none; one that
        // has none after a position inside of it is not. A reader that went on inside of its parts
        // gets its end, also when it asks for other changes by now.
        let isInside = query.after.map { $0.number >= header.first } ?? false
        if changes.isEmpty, index == 0, query.choosesChanges || isInside { return true }
        return try give(isLast: true, to: body)
    }

    private mutating func give(
        isLast: Bool, to body: (Transaction) throws -> Bool
    ) throws -> Bool {
        var transaction = header
        transaction.changes = changes
        if index > 0 || !isLast {
            transaction.part = Transaction.Part(index: index, isLast: isLast)
        }
        index += 1
        changes.removeAll(keepingCapacity: true)
        bytes = 0
        return try body(transaction)
    }
}

/// How transactions are given to a reader: in parts of which size, and from where in the first one.
struct Delivery {
    var limits = PartLimits.none
    /// The parts of its transaction up to it are left out.
    var start: PartPosition?
    var naming = Naming.then

    /// Whole transactions.
    static let whole = Delivery()

    /// Where the delivery of a transaction begins; nil: with its first change.
    func position(in transaction: Int64) -> PartPosition? {
        start.flatMap { $0.transaction == transaction ? $0 : nil }
    }
}

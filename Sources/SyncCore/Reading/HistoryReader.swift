import SyncStorage
import SyncValues

/// Reads transactions from the history tables, within the read transaction that the connection is
/// in.
final class HistoryReader {
    private let connection: OpaquePointer
    private let catalog: EntityCatalog
    private let resolver: ChangeResolver
    private let delivery: Delivery
    private let selectChanges: Statement

    init(
        _ connection: OpaquePointer, catalog: EntityCatalog, resolver: ChangeResolver,
        delivering delivery: Delivery = .whole
    ) throws {
        self.delivery = delivery
        self.connection = connection
        self.catalog = catalog
        self.resolver = resolver
        selectChanges = try Statement(ChangeTable.changesSQL, on: connection)
    }

    /// Calls `body` for each transaction that matches, in the query's order, until it returns
    /// false; a large one comes in parts where the delivery limits them.
    ///
    /// - Returns: false when `body` stopped it.
    /// - Complexity: O(transactions in range); with `query.object` O(changes of that object), with
    ///   `query.authors` O(their transactions).
    func forEach(
        matching query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        let range = NumberRange(query)
        if let object = query.object {
            let numbers = try numbers(of: object, reverse: query.reverse)
            var next = numbers.makeIterator()
            return try forEach(numberedBy: { next.next() }, in: range, matching: query, body)
        }
        if let signed = try SignedNumbers(connection, matching: query, in: range) {
            return try forEach(numberedBy: signed.next, in: range, matching: query, body)
        }
        let select = try Statement(range.sql(reverse: query.reverse), on: connection)
        range.bind(to: select)
        return try forEach(rowsOf: select, matching: query, body)
    }

    private func forEach(
        numberedBy next: () throws -> Int64?, in range: NumberRange, matching query: HistoryQuery,
        _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        let select = try Statement(range.sql(reverse: false), on: connection)
        while let number = try next() {
            range.bind(to: select, only: number)
            guard try forEach(rowsOf: select, matching: query, body) else { return false }
        }
        return true
    }

    private func forEach(
        rowsOf select: Statement, matching query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        defer { select.reset() }
        while try select.step() {
            let transaction = try header(select)
            guard query.matchesHeader(of: transaction) else { continue }
            var slicer = PartSlicer(transaction, matching: query, in: delivery)
            let isWanted = try forEachChange(of: transaction, after: query.after) {
                try slicer.add($0, givingTo: body)
            }
            guard isWanted, try slicer.finish(givingTo: body) else { return false }
        }
        return true
    }

    /// The transaction of a number with all of its changes; nil when the tables have none.
    ///
    /// - Complexity: O(its changes)
    func transaction(_ number: Int64) throws -> Transaction? {
        let select = try Statement(NumberRange.oneSQL, on: connection)
        select.bind(number, at: 1)
        guard try select.step() else { return nil }
        var transaction = try header(select)
        _ = try forEachChange(of: transaction, after: nil) {
            transaction.changes.append($0)
            return true
        }
        return transaction
    }

    /// One change of a transaction, with all of its values; nil when the tables do not have it.
    ///
    /// - Complexity: O(log changes), and O(its values)
    func change(seq: Int64, in number: Int64) throws -> Change? {
        let select = try Statement(NumberRange.oneSQL, on: connection)
        select.bind(number, at: 1)
        guard seq > 0, try select.step(), seq >= select.integer(1), seq <= number else {
            return nil
        }
        selectChanges.bind(seq, at: 1)
        selectChanges.bind(seq - 1, at: 2)
        selectChanges.bind(seq, at: 3)
        defer { selectChanges.reset() }
        guard try selectChanges.step() else { return nil }
        return try readChange().map {
            try resolver.resolve($0, in: number, naming: delivery.naming)
        }
    }

    /// The change in the present row; nil for one of an unknown kind or entity.
    private func readChange() throws -> NetChange? {
        let op = selectChanges.integer(1)
        guard let kind = Change.Kind(rawValue: Int(op & 7)),
            let entity = try catalog.entity(op >> 3)
        else { return nil }
        return try NetChange(
            seq: selectChanges.integer(0), entity: entity, kind: kind,
            key: selectChanges.value(2), data: selectChanges.blob(3))
    }

    /// The numbers of the transactions that changed an object, in the order asked for.
    private func numbers(
        of object: ObjectName, reverse: Bool
    ) throws -> [Int64] {
        let folded = SQLName.folded(object.entity)
        var ids = Set(catalog.ids(namedNow: folded))
        if delivery.naming == .then { ids.formUnion(catalog.ids(named: folded)) }
        let select = try Statement(ChangeTable.numbersOfObjectSQL, on: connection)
        var numbers: Set<Int64> = []
        for id in ids {
            select.bind(NetChange.storedKey(object.key), at: 1)
            select.bind(id << 3, at: 2)
            while try select.step() {
                if let number = select.integerOrNil(0) { numbers.insert(number) }
            }
        }
        return numbers.sorted(by: reverse ? (>) : (<))
    }

    private func header(_ row: Statement) throws -> Transaction {
        let time = Timestamp(milliseconds: row.integer(2))
        let name = row.text(8)
        let process = row.integerOrNil(3).map { Transaction.Process(pid: $0, name: name) }
        return Transaction(
            token: resolver.token(of: row.integer(0), time: time), first: row.integer(1),
            timestamp: time,
            author: row.text(6), context: row.text(7), process: process,
            origin: try row.blob(5).map(Transaction.Origin.init(packed:)),
            flags: Transaction.Flags(rawValue: Int(row.integer(4))), changes: [])
    }

    /// Where the reader's position lies inside a transaction (its commits ran together after it was
    /// read), what was read already is left out: changes whose last event is not after it.
    ///
    /// - Returns: false when `body` stopped it.
    private func forEachChange(
        of transaction: Transaction, after: Token?, _ body: (Change) throws -> Bool
    ) throws -> Bool {
        let start = delivery.position(in: transaction.number)?.change ?? 0
        let position = after?.number ?? 0
        selectChanges.bind(transaction.first, at: 1)
        selectChanges.bind(max(position < transaction.first ? position : 0, start), at: 2)
        selectChanges.bind(transaction.number, at: 3)
        defer { selectChanges.reset() }
        while try selectChanges.step() {
            guard let change = try readChange(), change.last > position else { continue }
            let resolved = try resolver.resolve(
                change, in: transaction.number, naming: delivery.naming)
            guard try body(resolved) else { return false }
        }
        return true
    }
}

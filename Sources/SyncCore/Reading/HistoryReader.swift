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
    private let selectChange: Statement

    init(
        _ connection: OpaquePointer, catalog: EntityCatalog, resolver: ChangeResolver,
        delivering delivery: Delivery = .whole
    ) throws {
        self.delivery = delivery
        self.connection = connection
        self.catalog = catalog
        self.resolver = resolver
        selectChanges = try Statement(ChangeTable.changesSQL, on: connection)
        selectChange = try Statement(ChangeTable.changeSQL, on: connection)
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
        if let objects = query.objects ?? query.object.map({ [$0] }) {
            let changes = try changes(of: objects)
            var next = changes.keys.sorted(by: query.reverse ? (>) : (<)).makeIterator()
            return try forEach(
                numberedBy: { next.next() }, in: range, matching: query, choosing: changes, body)
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
        choosing changes: [Int64: [Int64]]? = nil, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        let select = try Statement(range.sql(reverse: false), on: connection)
        while let number = try next() {
            range.bind(to: select, only: number)
            guard try forEach(rowsOf: select, matching: query, choosing: changes, body) else {
                return false
            }
        }
        return true
    }

    /// - Parameter changes: the changes to read, by transaction; nil: all.
    private func forEach(
        rowsOf select: Statement, matching query: HistoryQuery,
        choosing changes: [Int64: [Int64]]? = nil, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        defer { select.reset() }
        while try select.step() {
            let transaction = try header(select)
            guard query.matchesHeader(of: transaction) else { continue }
            var slicer = PartSlicer(transaction, matching: query, in: delivery)
            let chosen = changes.map { $0[transaction.number] ?? [] }
            let isWanted = try forEachChange(
                of: transaction, after: query.after, choosing: chosen
            ) { try slicer.add($0, givingTo: body) }
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
        selectChange.bind(seq, at: 1)
        defer { selectChange.reset() }
        guard try selectChange.step() else { return nil }
        return try readChange(selectChange).map {
            try resolver.resolve($0, in: number, naming: delivery.naming)
        }
    }

    /// The change in the present row; nil for one of an unknown kind or entity.
    private func readChange(_ row: Statement) throws -> NetChange? {
        let op = row.integer(1)
        guard let kind = Change.Kind(rawValue: Int(op & 7)),
            let entity = try catalog.entity(op >> 3)
        else { return nil }
        return try NetChange(
            seq: row.integer(0), entity: entity, kind: kind, key: row.value(2), data: row.blob(3))
    }

    /// The changes of objects, ascending, by the numbers of their transactions.
    private func changes(of objects: Set<ObjectName>) throws -> [Int64: [Int64]] {
        let select = try Statement(ChangeTable.numbersOfObjectSQL, on: connection)
        var ids: [String: Set<Int64>] = [:]
        var changes: [Int64: [Int64]] = [:]
        for object in objects {
            let folded = SQLName.folded(object.entity)
            let own = ids[folded] ?? self.ids(of: folded)
            ids[folded] = own
            for id in own {
                select.bind(NetChange.storedKey(object.key), at: 1)
                select.bind(id << 3, at: 2)
                defer { select.reset() }
                while try select.step() {
                    if let number = select.integerOrNil(1) {
                        changes[number, default: []].append(select.integer(0))
                    }
                }
            }
        }
        return changes.mapValues { $0.sorted() }
    }

    /// The entities that a query means by a folded name.
    private func ids(of folded: String) -> Set<Int64> {
        let present = Set(catalog.ids(namedNow: folded))
        return delivery.naming == .now ? present : present.union(catalog.ids(named: folded))
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
    /// - Parameter chosen: the changes to read; nil: all.
    /// - Returns: false when `body` stopped it.
    private func forEachChange(
        of transaction: Transaction, after: Token?, choosing chosen: [Int64]? = nil,
        _ body: (Change) throws -> Bool
    ) throws -> Bool {
        let start = delivery.position(in: transaction.number)?.change ?? 0
        let position = after?.number ?? 0
        func give(_ row: Statement) throws -> Bool {
            guard let change = try readChange(row), change.last > position else { return true }
            return try body(
                resolver.resolve(change, in: transaction.number, naming: delivery.naming))
        }
        if let chosen {
            for seq in chosen where seq > start {
                selectChange.bind(seq, at: 1)
                defer { selectChange.reset() }
                guard try !selectChange.step() || give(selectChange) else { return false }
            }
            return true
        }
        selectChanges.bind(transaction.first, at: 1)
        selectChanges.bind(max(position < transaction.first ? position : 0, start), at: 2)
        selectChanges.bind(transaction.number, at: 3)
        defer { selectChanges.reset() }
        while try selectChanges.step() {
            guard try give(selectChanges) else { return false }
        }
        return true
    }
}

import SyncStorage
import SyncValues

/// Reads transactions from the history tables, within the read transaction that the connection is
/// in.
final class HistoryReader {
    private let connection: OpaquePointer
    private let catalog: EntityCatalog
    private let resolver: ChangeResolver
    private let selectChanges: Statement

    init(
        _ connection: OpaquePointer, catalog: EntityCatalog, resolver: ChangeResolver
    ) throws {
        self.connection = connection
        self.catalog = catalog
        self.resolver = resolver
        selectChanges = try Statement(
            connection,
            """
            SELECT seq, op, key, data FROM syncd_change
            WHERE seq >= ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq
            """)
    }

    /// Calls `body` for each transaction that matches, in the query's order, until it returns
    /// false.
    ///
    /// - Returns: false when `body` stopped it.
    /// - Complexity: O(transactions in range); with `query.object` O(changes of that object), with
    ///   `query.authors` O(their transactions).
    func forEach(
        _ query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        let range = NumberRange(query)
        if let object = query.object {
            let numbers = try numbers(of: object, reverse: query.reverse)
            var next = numbers.makeIterator()
            return try forEach({ next.next() }, range, query, body)
        }
        if let signed = try SignedNumbers(connection, query, range) {
            return try forEach(signed.next, range, query, body)
        }
        let select = try Statement(connection, range.sql(reverse: query.reverse))
        range.bind(to: select)
        return try forEach(rowsOf: select, query, body)
    }

    private func forEach(
        _ next: () throws -> Int64?, _ range: NumberRange, _ query: HistoryQuery,
        _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        let select = try Statement(connection, range.sql(reverse: false))
        while let number = try next() {
            range.bind(to: select, only: number)
            guard try forEach(rowsOf: select, query, body) else { return false }
        }
        return true
    }

    private func forEach(
        rowsOf select: Statement, _ query: HistoryQuery, _ body: (Transaction) throws -> Bool
    ) throws -> Bool {
        defer { select.reset() }
        while try select.step() {
            var transaction = try header(select)
            guard query.matchesHeader(of: transaction) else { continue }
            transaction.changes = try changes(of: transaction, after: query.after)
            guard let matching = query.filter(transaction) else { continue }
            guard try body(matching) else { return false }
        }
        return true
    }

    /// The transaction of a number with all of its changes; nil when the tables have none.
    ///
    /// - Complexity: O(its changes)
    func transaction(_ number: Int64) throws -> Transaction? {
        let select = try Statement(connection, NumberRange.oneSQL)
        select.bind(1, number)
        guard try select.step() else { return nil }
        var transaction = try header(select)
        transaction.changes = try changes(of: transaction, after: nil)
        return transaction
    }

    /// The numbers of the transactions that changed an object, in the order asked for.
    private func numbers(
        of object: HistoryQuery.ObjectName, reverse: Bool
    ) throws -> [Int64] {
        let ids = try catalog.ids(named: SQLName.folded(object.entity))
        let select = try Statement(connection, Self.numbersOfObjectSQL)
        var numbers: Set<Int64> = []
        for id in ids {
            select.bind(1, NetChange.storedKey(object.key))
            select.bind(2, id << 3)
            while try select.step() {
                if let number = select.integerOrNil(0) { numbers.insert(number) }
            }
        }
        return numbers.sorted(by: reverse ? (>) : (<))
    }

    static let numbersOfObjectSQL = """
        SELECT (SELECT number FROM syncd_transaction t WHERE t.number >= c.seq
                ORDER BY number LIMIT 1)
        FROM syncd_change c WHERE c.key = ?1 AND c.op > ?2 AND c.op < ?2 + 8
        """

    private func header(_ row: Statement) throws -> Transaction {
        let time = Timestamp(milliseconds: row.integer(2))
        let name = row.text(8)
        let process = row.integerOrNil(3).map { Transaction.Process(pid: $0, name: name) }
        return Transaction(
            token: resolver.token(row.integer(0), time), first: row.integer(1), timestamp: time,
            author: row.text(6), context: row.text(7), process: process,
            origin: try row.blob(5).map(Transaction.Origin.init(packed:)),
            flags: Transaction.Flags(rawValue: Int(row.integer(4))), changes: [])
    }

    /// Where the reader's position lies inside a transaction (its commits ran together after it was
    /// read), what was read already is left out.
    private func changes(of transaction: Transaction, after: Token?) throws -> [Change] {
        selectChanges.bind(1, transaction.first)
        selectChanges.bind(2, after?.number ?? 0)
        selectChanges.bind(3, transaction.number)
        defer { selectChanges.reset() }
        var changes: [Change] = []
        while try selectChanges.step() {
            let op = selectChanges.integer(1)
            guard let kind = Change.Kind(rawValue: Int(op & 7)),
                let entity = try catalog.entity(op >> 3)
            else { continue }
            let change = try NetChange(
                seq: selectChanges.integer(0), entity: entity, kind: kind,
                key: selectChanges.value(2), data: selectChanges.blob(3))
            changes.append(try resolver.resolve(change, in: transaction.number))
        }
        return changes
    }
}

extension Transaction.Origin {
    /// Reads `syncd_transaction.origin`.
    package init(packed bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        guard let replica = ReplicaID(bytes: Array(try reader.counted())) else {
            throw SyncError(.badData, "an origin in history has no replica")
        }
        self.init(
            replica: replica, number: try reader.signed(),
            time: Timestamp(milliseconds: try reader.signed()))
    }

    /// What ``init(packed:)`` reads.
    package var packed: [UInt8] {
        var writer = ByteWriter()
        writer.append(counted: replica.bytes)
        writer.append(signed: number)
        writer.append(signed: time.milliseconds)
        return writer.bytes
    }
}

import SyncStorage
import SyncValues

/// Writes transactions into the history tables, inside the write transaction that the connection is
/// in.
///
/// Writing the same transaction again changes nothing: after a crash between two slices the digest
/// starts over at the first transaction that is not whole.
package final class HistoryWriter {
    private let insertTransactions: RowStatement
    private let insertChanges: RowStatement
    private let findWho: Statement
    private let insertWho: Statement

    /// - Throws: `refused` when the tables are missing.
    package init(_ connection: OpaquePointer) throws {
        insertTransactions = try RowStatement(
            width: 7, on: connection, TransactionTable.insertSQL(from:))
        insertChanges = try RowStatement(width: 4, on: connection, ChangeTable.insertSQL(from:))
        findWho = try Statement(TransactionTable.findAuthorSQL, on: connection)
        insertWho = try Statement(TransactionTable.insertAuthorSQL, on: connection)
    }

    /// Writes changes. No reader sees them before the header of their transaction is written.
    /// - Throws: the error of SQLite.
    /// - Complexity: O(changes)
    package func write(_ changes: some Sequence<NetChange>) throws {
        insertChanges.removeRows()
        try add(changes)
        try insertChanges.run()
    }

    /// Writes transactions with their changes.
    /// - Throws: the error of SQLite.
    /// - Complexity: O(changes)
    package func write(_ transactions: some Sequence<NetTransaction>) throws {
        try write(transactions) { rows in
            for transaction in transactions { try rows.add(transaction.changes) }
        }
    }

    /// Writes headers: from now on the transactions, with their changes, are part of history.
    /// - Throws: the error of SQLite.
    package func write(headers transactions: some Sequence<NetTransaction>) throws {
        insertTransactions.removeRows()
        for transaction in transactions {
            let who = try transaction.who.flatMap(whoID)
            let row = insertTransactions
            row.addRow()
            row.bind(transaction.number, at: 1)
            row.bind(transaction.first, at: 2)
            row.bind(transaction.time.milliseconds, at: 3)
            if let who { row.bind(who, at: 4) }
            if let pid = transaction.who?.process?.pid { row.bind(pid, at: 5) }
            row.bind(Int64(transaction.flags.rawValue), at: 6)
            row.bind(transaction.origin?.packed, at: 7)
            if row.isFull { try row.run() }
        }
        try insertTransactions.run()
    }

    /// Writes transactions with the changes that `add` adds, and not with those that they have.
    /// - Throws: the error of SQLite; what `add` throws.
    /// - Complexity: O(changes)
    package func write(
        _ transactions: some Sequence<NetTransaction>,
        adding add: (_ rows: HistoryWriter) throws -> Void
    ) throws {
        insertChanges.removeRows()
        try add(self)
        try insertChanges.run()
        try write(headers: transactions)
    }

    private func add(_ changes: some Sequence<NetChange>) throws {
        for change in changes { try add(change) }
    }

    /// Adds a change, within ``write(_:adding:)``.
    /// - Throws: the error of SQLite.
    package func add(_ change: NetChange) throws {
        try add(
            change.seq, change.kind, of: change.entity, key: NetChange.storedKey(change.key),
            data: change.packedData)
    }

    /// Adds a change, within ``write(_:adding:)``.
    /// - Parameters:
    ///   - key: as ``NetChange/storedKey(_:)`` has it.
    ///   - data: as ``NetChange/packedData``.
    /// - Throws: the error of SQLite.
    package func add(
        _ seq: Int64, _ kind: Change.Kind, of entity: TrackedEntity, key: Value, data: [UInt8]?
    ) throws {
        let row = insertChanges
        row.addRow()
        row.bind(seq, at: 1)
        row.bind(entity.id << 3 | Int64(kind.rawValue), at: 2)
        row.bind(key, at: 3)
        row.bind(data, at: 4)
        if row.isFull { try row.run() }
    }

    /// Looked up each time: a purge, maybe of another process, removes authors whose last
    /// transaction goes, and their ids are given again.
    private func whoID(_ marker: LogRecord.Marker) throws -> Int64? {
        let names = [marker.author, marker.context, marker.process?.name]
        guard names.contains(where: { $0 != nil }) else { return nil }
        return try find(names, with: findWho) ?? find(names, with: insertWho)
    }

    private func find(_ names: [String?], with statement: Statement) throws -> Int64? {
        for (index, name) in names.enumerated() { statement.bind(name, at: Int32(index + 1)) }
        guard try statement.step() else { return nil }
        let id = statement.integer(0)
        // To its end: INSERT … RETURNING is finished only then.
        try statement.run()
        return id
    }
}

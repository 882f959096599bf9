import SyncStorage
import SyncValues

/// Writes transactions into the history tables, inside the write transaction that the connection is
/// in.
///
/// Writing the same transaction again changes nothing: after a crash between two slices the digest
/// starts over at the first transaction that is not whole.
package final class HistoryWriter {
    private let insertTransaction: Statement
    private let insertChange: Statement
    private let findWho: Statement
    private let insertWho: Statement

    /// - Throws: `refused` when the tables are missing.
    package init(_ connection: OpaquePointer) throws {
        insertTransaction = try Statement(TransactionTable.insertSQL, on: connection)
        insertChange = try Statement(ChangeTable.insertSQL, on: connection)
        findWho = try Statement(TransactionTable.findAuthorSQL, on: connection)
        insertWho = try Statement(TransactionTable.insertAuthorSQL, on: connection)
    }

    /// Writes a change. No reader sees it before the header of its transaction is written.
    /// - Throws: the error of SQLite.
    package func write(_ change: NetChange) throws {
        insertChange.bind(change.seq, at: 1)
        insertChange.bind(change.entity.id << 3 | Int64(change.kind.rawValue), at: 2)
        insertChange.bind(NetChange.storedKey(change.key), at: 3)
        insertChange.bind(change.packedData, at: 4)
        try insertChange.run()
    }

    /// Writes the header: from now on the transaction, with its changes, is part of history.
    /// - Throws: the error of SQLite.
    package func write(header transaction: NetTransaction) throws {
        insertTransaction.bind(transaction.number, at: 1)
        insertTransaction.bind(transaction.first, at: 2)
        insertTransaction.bind(transaction.time.milliseconds, at: 3)
        if let who = transaction.who, let id = try whoID(who) {
            insertTransaction.bind(id, at: 4)
        } else {
            insertTransaction.bindNull(4)
        }
        if let pid = transaction.who?.process?.pid {
            insertTransaction.bind(pid, at: 5)
        } else {
            insertTransaction.bindNull(5)
        }
        insertTransaction.bind(Int64(transaction.flags.rawValue), at: 6)
        insertTransaction.bind(transaction.origin?.packed, at: 7)
        try insertTransaction.run()
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

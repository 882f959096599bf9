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

    package init(_ connection: OpaquePointer) throws {
        insertTransaction = try Statement(
            connection,
            """
            INSERT OR REPLACE INTO syncd_transaction(number, first, time, who, pid, flags, origin)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        insertChange = try Statement(
            connection,
            "INSERT OR REPLACE INTO syncd_change(seq, op, key, data) VALUES (?1, ?2, ?3, ?4)")
        findWho = try Statement(
            connection,
            "SELECT id FROM syncd_who WHERE author IS ?1 AND context IS ?2 AND process IS ?3")
        insertWho = try Statement(
            connection,
            "INSERT INTO syncd_who(author, context, process) VALUES (?1, ?2, ?3) RETURNING id")
    }

    package func write(_ change: NetChange) throws {
        insertChange.bind(1, change.seq)
        insertChange.bind(2, change.entity.id << 3 | Int64(change.kind.rawValue))
        insertChange.bind(3, NetChange.storedKey(change.key))
        insertChange.bind(4, change.packedData)
        try insertChange.run()
    }

    /// Writes the header: from now on the transaction, with its changes, is part of history.
    package func write(header transaction: NetTransaction) throws {
        insertTransaction.bind(1, transaction.number)
        insertTransaction.bind(2, transaction.first)
        insertTransaction.bind(3, transaction.time.milliseconds)
        if let who = transaction.who, let id = try whoID(who) {
            insertTransaction.bind(4, id)
        } else {
            insertTransaction.bindNull(4)
        }
        if let pid = transaction.who?.process?.pid {
            insertTransaction.bind(5, pid)
        } else {
            insertTransaction.bindNull(5)
        }
        insertTransaction.bind(6, Int64(transaction.flags.rawValue))
        insertTransaction.bind(7, transaction.origin?.packed)
        try insertTransaction.run()
    }

    /// Looked up each time: a purge, maybe of another process, removes authors whose last
    /// transaction goes, and their ids are given again.
    private func whoID(_ marker: LogRecord.Marker) throws -> Int64? {
        let names = [marker.author, marker.context, marker.process?.name]
        guard names.contains(where: { $0 != nil }) else { return nil }
        return try find(names, findWho) ?? find(names, insertWho)
    }

    private func find(_ names: [String?], _ statement: Statement) throws -> Int64? {
        for (index, name) in names.enumerated() { statement.bind(Int32(index + 1), name) }
        guard try statement.step() else { return nil }
        let id = statement.integer(0)
        // To its end: INSERT … RETURNING is finished only then.
        try statement.run()
        return id
    }
}

import GRDB
import SyncCore
import SyncStorage

/// Rows of one table that synchronising leaves out, or that lost what they refer to.
public struct UnsyncedRows: Sendable, Hashable {
    /// What is the matter with them.
    public enum Reason: Sendable, Hashable {
        /// Their key holds NULL: it identifies nothing.
        case nullKey
        /// The table is not tracked, or cannot be merged, and the rows of this table that they
        /// refer to are not there: deleted by a merge, or by a writer without foreign keys.
        case dangling(parent: String)
        /// The foreign keys of the tracked table cannot be merged.
        case unmerged(String)
        /// The table cannot be recorded, in a store that records all tables.
        case unrecorded(UnrecordedTable)
        /// What other replicas write to the table cannot be merged here.
        case unwritable(UnwritableTable)
        /// A foreign key calls what they hold the key of a row, in another spelling, and a UNIQUE
        /// of their table calls it another value: it is merged as text, and no reference.
        case respelled(column: String, parent: String)
    }

    /// The table's name.
    public let table: String
    /// How many rows; nil: they are not counted.
    public let count: Int?
    /// What is the matter with them.
    public let reason: Reason
}

extension StoreReplica {
    /// The rows that synchronising leaves out, or leaves without what they refer to. Merging does
    /// not change tables that are not tracked: what becomes of such rows is for their owner to
    /// decide.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(rows of the tables that are not merged and refer to merged ones); O(rows)
    ///   for a tracked table with a key of several columns that may be NULL, or with a reference
    ///   in a UNIQUE that compares otherwise than the key does.
    public func unsyncedRows() throws -> [UnsyncedRows] {
        try unsentRows()
            + UnwritableTable.all(path).map {
                UnsyncedRows(table: $0.name, count: nil, reason: .unwritable($0))
            }
    }

    private func unsentRows() throws -> [UnsyncedRows] {
        try run("check") { session in
            try RawTransaction.read(on: session.connection) {
                let unmerged = try UnmergedTable.all(in: session.database)
                let left = Set(unmerged.map { SQLName.folded($0.name) })
                let nullKeys = try NullKeys.all(session.database).filter {
                    !left.contains(SQLName.folded($0.table))
                }
                return try Self.rows(of: unmerged, in: session.database)
                    + nullKeys.map {
                        UnsyncedRows(table: $0.table, count: $0.count, reason: .nullKey)
                    } + Self.danglingRows(in: session.database, unmerged: left)
                    + UnrecordedTable.all(in: session.database).map {
                        UnsyncedRows(table: $0.name, count: nil, reason: .unrecorded($0))
                    }
            } + (session.read(RespelledRows.all) ?? [])
        }
    }

    private static func rows(
        of tables: [UnmergedTable], in database: Database
    ) throws -> [UnsyncedRows] {
        try tables.map { table in
            let count = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM \(SQLName.quoted(table.name))")
            return UnsyncedRows(
                table: table.name, count: count ?? 0, reason: .unmerged(table.reason))
        }
    }

    private static func danglingRows(
        in database: Database, unmerged: Set<String>
    ) throws -> [UnsyncedRows] {
        let tracked = Set(try EntityTable(database).live().map { SQLName.folded($0.name) })
            .subtracting(unmerged)
        return try SchemaReader(database).tables().filter { table in
            table.kind == .table && !SQLName.isOwn(table.name)
                && !tracked.contains(SQLName.folded(table.name))
                && table.foreignKeys.contains { tracked.contains(SQLName.folded($0.parent)) }
        }.flatMap { table -> [UnsyncedRows] in
            // A foreign key to columns that are not UNIQUE cannot be checked, by SQLite either.
            let rows = try? Row.fetchAll(
                database,
                sql: """
                    SELECT parent, count(*) AS count FROM pragma_foreign_key_check(?)
                    GROUP BY parent ORDER BY parent
                    """, arguments: [table.name])
            return (rows ?? []).compactMap { row in
                let parent: String = row["parent"]
                guard tracked.contains(SQLName.folded(parent)) else { return nil }
                return UnsyncedRows(
                    table: table.name, count: row["count"], reason: .dangling(parent: parent))
            }
        }
    }
}

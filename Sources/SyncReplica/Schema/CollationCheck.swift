import SyncStorage
import SyncValues

/// Refuses tables whose indexes need a collation that an application defines: SQLite cannot write
/// such a table without it, and only the application has it.
struct CollationCheck {
    private let connection: OpaquePointer

    init(_ connection: OpaquePointer) { self.connection = connection }

    /// - Parameter tables: the tables to merge.
    /// - Throws: `cannotTrack` naming the table and the collation; SQLite errors.
    /// - Complexity: O(indexes)
    func require(_ tables: [TableSchema]) throws {
        let select = try Statement(
            """
            SELECT x.coll FROM pragma_index_list(?1) l, pragma_index_xinfo(l.name) x
            WHERE x.key AND x.coll COLLATE NOCASE NOT IN ('BINARY', 'NOCASE', 'RTRIM')
            """, on: connection)
        for table in tables {
            select.bind(table.name, at: 1)
            defer { select.reset() }
            guard try select.step(), let collation = select.text(0) else { continue }
            throw SyncError(
                .cannotTrack,
                "\(table.name) cannot be merged: an index of it uses the collation \(collation), "
                    + "which is not a part of SQLite",
                hint: "Track the other tables alone: synctool untrack DB, then for each of them: "
                    + "synctool track DB --entity NAME; or drop the index")
        }
    }
}

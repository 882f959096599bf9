import SyncStorage

@testable import SyncReplica

/// Every table of syncd, for comparisons.
enum SyncdTables {
    private struct Done: Error {}

    /// The tables after what writers have committed is stated, which is taken back.
    static func stated(by replica: StoreReplica) throws -> [String: [String]] {
        var tables: [String: [String]] = [:]
        do {
            try replica.run("test") { session in
                try session.transact { transaction in
                    try transaction.finish()
                    try SumKeeping(transaction.storage, identity: transaction.identity).keep()
                    tables = try dump(transaction.connection)
                    throw Done()
                }
            }
        } catch is Done {}
        return tables
    }

    /// All rows as text, without the numbers of the rows of `syncd_object`.
    private static func dump(_ connection: OpaquePointer) throws -> [String: [String]] {
        let names = try Statement(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table'
              AND (name LIKE 'syncd%' OR name = 'sqlite_sequence')
            """, on: connection)
        var tables: [String: [String]] = [:]
        while try names.step() {
            let name = names.text(0) ?? ""
            // It follows these numbers.
            if name == "syncd_extent" { continue }
            let rows = try Statement("SELECT * FROM \"\(name)\"", on: connection)
            let first: Int32 = name == "syncd_object" ? 1 : 0
            var found: [String] = []
            while try rows.step() {
                found.append(
                    (first..<rows.columnCount).map { "\(rows.value($0))" }
                        .joined(separator: "|"))
            }
            tables[name] = found.sorted()
        }
        return tables
    }
}

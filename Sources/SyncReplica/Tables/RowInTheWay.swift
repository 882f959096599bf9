import SyncMerge
import SyncStorage
import SyncValues

/// A row that merging does not know as the rival of another one, and that holds a UNIQUE value of
/// it: its key is NULL, so that it is no object, or one of the two refers to a row that was not
/// there, by a value under which another replica has a row.
struct RowInTheWay {
    private let table: MergedTable
    /// The row that cannot be written.
    private let row: [Value]
    /// The one that is there.
    private let other: [Value]
    /// The columns of the values that both have.
    private let columns: [Int]

    /// - Parameter row: one that the table refuses.
    /// - Returns: nil where no other row has its values.
    /// - Throws: SQLite errors.
    /// - Complexity: O(claims), a look-up for each
    init?(
        of row: [Value], in table: MergedTable, _ entity: MergeEntity,
        statements: StatementCache
    ) throws {
        let key = entity.key.map { row[$0] }
        for (place, claim) in entity.claims.enumerated() {
            guard let values = claim.values(of: row) else { continue }
            let select = try statements.statement(table.selectClaimants[place])
            select.bind(values)
            defer { select.reset() }
            while try select.step() {
                let other = table.columns.indices.map { select.value(Int32($0)) }
                guard entity.key.map({ other[$0] }) != key else { continue }
                (self.table, self.row, self.other) = (table, row, other)
                columns = claim.columns
                return
            }
        }
        return nil
    }

    private static func name(_ row: [Value], of table: MergedTable) -> String {
        "row \(table.key.map { row[$0].description }.joined(separator: ", ")) of \(table.name)"
    }

    /// What to do about a row that a constraint refuses which merging does not know.
    /// - Parameter message: what SQLite says.
    static func error(of row: [Value], in table: MergedTable, _ message: String) -> SyncError {
        SyncError(
            .refused,
            "\(name(row, of: table)) cannot be written: \(message)",
            hint: "Merging does not know this constraint: change or delete the row of this "
                + "database that it is about, or drop the constraint, then run it again")
    }

    private var hasKey: Bool { !table.key.contains { other[$0] == .null } }

    /// What is in the way of which row, and what to do.
    var error: SyncError {
        let shared = columns.map { table.columns[$0] }.joined(separator: ", ")
        let values = columns.map { other[$0].description }.joined(separator: ", ")
        let found = hasKey ? Self.name(other, of: table) : "a row whose key is NULL (\(values))"
        return SyncError(
            .refused,
            "\(Self.name(row, of: table)) and \(found) of this database have the same "
                + "\(shared), which is UNIQUE, and merging cannot tell which one to show",
            hint: hasKey
                ? "One of them refers to a row that is not there: correct its reference, or change "
                    + "or delete the row in this database, then run it again"
                : "Rows without a key are not synchronised: give it one, or change or delete it, "
                    + "then run it again")
    }
}

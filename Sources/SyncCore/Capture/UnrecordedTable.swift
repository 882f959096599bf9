import GRDB
import SyncStorage

/// A table with rows that cannot be recorded, in a store that records all tables: its rows are in
/// no history, in no notice and on no other replica.
public struct UnrecordedTable: Sendable, Hashable {
    /// The table's name.
    public let name: String
    /// Why.
    public let reason: TrackReport.Reason

    /// What a person can do about it; nil: nothing.
    public var remedy: String? {
        reason == .noDeclaredKey ? "to have it recorded, make it with a PRIMARY KEY" : nil
    }

    /// The tables of a database, in order of name. Virtual tables and what they consist of are none
    /// of them: their rows follow from others, or are no rows.
    /// - Throws: SQLite errors.
    /// - Complexity: O(columns of the schema)
    package static func all(in database: Database) throws -> [UnrecordedTable] {
        guard try Metadata(database).recordsNewTables() else { return [] }
        return try SchemaReader(database).tables().compactMap { table in
            // A row of `syncd_guard` may stay for a while.
            guard !SQLName.folded(table.name).hasPrefix("syncd_"),
                let reason = Tracker.reasonToLeaveAlone(table),
                [.noDeclaredKey, .tooManyColumns].contains(reason),
                try Bool.fetchOne(
                    database,
                    sql: "SELECT EXISTS (SELECT 1 FROM \(SQLName.quoted(table.name)))") == true
            else { return nil }
            return UnrecordedTable(name: table.name, reason: reason)
        }.sorted { $0.name < $1.name }
    }
}

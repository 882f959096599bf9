import CSQLite
import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Applies the changes of a ``SchemaComparison``, after its renames, in the transaction that the
/// connection is in.
struct SchemaApplying {
    private let comparison: SchemaComparison

    init(_ comparison: SchemaComparison) { self.comparison = comparison }

    /// - Returns: what could not be made.
    /// - Throws: SQLite errors: nothing is to be kept then.
    func apply(in database: Database) throws -> [RefusedObject] {
        func objects(_ kinds: SchemaComparison.Change.Kind...) -> [SchemaObject] {
            comparison.changes.filter { kinds.contains($0.kind) }.compactMap(\.object)
        }
        var failed = try ObjectSet(objects(.newTable, .newUntrackedTable)).make(in: database)
        for change in comparison.changes where change.kind == .newColumn {
            // The rows may break a CHECK of it.
            if let reason = try objection(to: change, in: database) {
                let column = SchemaObject(.table, name: change.name, sql: change.sql)
                failed.append(
                    RefusedObject(
                        object: column, reason: reason, needsConsent: false, isColumn: true))
            }
        }
        let rest = objects(.newVirtualTable, .newIndex, .newView, .newTrigger)
        failed += try ObjectSet(rest).makeFilled(in: database)
        // Programs take the version for a promise of the schema: it is set when that holds.
        if let version = comparison.userVersion, comparison.differences.isEmpty,
            comparison.refused.isEmpty, failed.isEmpty,
            Int64(Int32.min)...Int64(Int32.max) ~= version
        {
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
        return failed
    }

    /// Adds a column.
    /// - Returns: why it cannot be added; nil: it is.
    private func objection(
        to change: SchemaComparison.Change, in database: Database
    ) throws -> String? {
        let connection = try database.openConnection
        try RawTransaction.execute("SAVEPOINT adding", on: connection)
        defer { try? RawTransaction.execute("RELEASE adding", on: connection) }
        do {
            try database.execute(sql: change.sql)
            return nil
        } catch let error as DatabaseError {
            guard [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode) else {
                throw error
            }
            try RawTransaction.execute("ROLLBACK TO adding", on: connection)
            return (error.message ?? "\(error.resultCode)").printable(countMax: 200)
        }
    }
}

import CSQLite
import GRDB
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
            try database.execute(sql: change.sql)
        }
        let rest = objects(.newVirtualTable, .newIndex, .newView, .newTrigger)
        failed += try ObjectSet(rest).make(in: database)
        for object in rest where object.kind == .virtualTable {
            guard (try? VirtualTableText(object))?.isRebuildable ?? false,
                !failed.contains(where: { $0.object == object })
            else { continue }
            let name = SQLName.quoted(object.name)
            try database.execute(sql: "INSERT INTO \(name)(\(name)) VALUES ('rebuild')")
        }
        // Programs take the version for a promise of the schema: it is set when that holds.
        if let version = comparison.userVersion, comparison.differences.isEmpty,
            comparison.refused.isEmpty, failed.isEmpty,
            Int64(Int32.min)...Int64(Int32.max) ~= version
        {
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
        return failed
    }
}

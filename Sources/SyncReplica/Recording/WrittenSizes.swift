import SyncCore
import SyncStorage
import SyncValues

/// About how many bytes the values have that changes wrote, as the tables have them now. Nothing is
/// measured in a database that is small as a whole.
///
/// Confined to its connection's queue and to one transaction.
final class WrittenSizes {
    /// Bytes of a database in which all changes together are no large transaction.
    private static let databaseMin = Int64(32 << 20)

    private let storage: ReplicaStorage
    private let tables: LoggedTables
    private let isSmall: Bool
    /// By entity of the log and columns; nil: nothing that is worth it.
    private var statements: [Columns: Statement?] = [:]
    /// Beyond this they are made again.
    private static let statementsMax = 200

    private struct Columns: Hashable {
        let entity: Int64
        /// Nil: all.
        let mask: ColumnMask?
    }

    /// - Throws: SQLite errors.
    init(_ storage: ReplicaStorage, tables: LoggedTables) throws {
        self.storage = storage
        self.tables = tables
        let size = try Statement(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            on: storage.connection)
        isSmall = try size.step() && size.integer(0) < Self.databaseMin
    }

    /// The characters of the texts, the bytes of the blobs.
    /// - Throws: `badData` for layouts that cannot be read; SQLite errors.
    /// - Complexity: O(log rows), and the texts
    func byteCount(of change: NetChange) throws -> Int64 {
        guard !isSmall, change.kind != .delete, let select = try statement(for: change) else {
            return 0
        }
        select.bind(change.key.values)
        defer { select.reset() }
        return try select.step() ? select.integer(0) : 0
    }

    private func statement(for change: NetChange) throws -> Statement? {
        let columns = Columns(
            entity: change.entity.id, mask: change.kind == .insert ? nil : change.mask)
        if let known = statements[columns] { return known }
        if statements.count >= Self.statementsMax { statements = [:] }
        let statement = try make(change)
        statements.updateValue(statement, forKey: columns)
        return statement
    }

    private func make(_ change: NetChange) throws -> Statement? {
        guard let logged = try tables.find(change.entity) else { return nil }
        let table = storage.schema.tables[logged.position]
        guard change.key.values.count == table.key.count else { return nil }
        let places: [Int] =
            change.kind == .insert
            ? Array(table.columns.indices)
            : logged.columns.enumerated().compactMap { change.mask.contains($0) ? $1 : nil }
        let lengths = places.filter { !table.key.contains($0) }.map {
            "coalesce(length(\(SQLName.quoted(table.columns[$0]))), 0)"
        }
        guard !lengths.isEmpty else { return nil }
        return try Statement(
            table.select(computing: lengths.joined(separator: " + ")), on: storage.connection)
    }
}

import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// How large changes are: the facts that they make, and about how many bytes the values have that
/// they wrote, as the tables have them now. No bytes are measured in a database that is small as a
/// whole.
///
/// Confined to its connection's queue and to one transaction.
final class ChangeMeasure: ChangeMeasuring {
    /// Bytes of a database in which all changes together are no large transaction.
    private static let databaseMin = Int64(32 << 20)

    private let storage: ReplicaStorage
    private let tables: LoggedTables
    /// Bytes of the database.
    private let size: Int64
    private var isSmall: Bool { size < Self.databaseMin }
    /// By entity of the schema.
    private let ranks: [Int?]
    /// The entities that refer to themselves.
    private let nested: Set<Int>
    private let factsMax: Int
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
        self.size = try size.step() ? size.integer(0) : .max
        let schema = storage.schema.merge
        ranks = Self.ranks(in: schema)
        nested = Set(
            schema.entities.indices.filter { position in
                schema.entities[position].references.contains { $0.target == position }
            })
        factsMax = 1 + (schema.entities.map(\.cells.count).max() ?? 0)
    }

    /// How many steps of references lead away from each table, at most, those of circles left out.
    /// Nil: it refers to no other, and no other to it.
    /// - Complexity: O(tables and references)
    private static func ranks(in schema: MergeSchema) -> [Int?] {
        var ranks: [Int?] = Array(repeating: nil, count: schema.entities.count)
        for component in ReferenceOrder(of: schema).components {
            let inside = Set(component.entities)
            let targets = Set(
                component.entities.flatMap { schema.entities[$0].references.map(\.target) }
            ).subtracting(inside)
            for target in targets where ranks[target] == nil { ranks[target] = 0 }
            guard let highest = targets.compactMap({ ranks[$0] }).max() else { continue }
            for entity in component.entities { ranks[entity] = highest + 1 }
        }
        return ranks
    }

    /// Whether the table of a change refers to itself.
    /// - Throws: as ``factCount(of:)``.
    func isNested(_ change: NetChange) throws -> Bool {
        try tables.find(change.entity).map { nested.contains($0.position) } ?? false
    }

    /// Whether that many changes of one commit may be beyond the limits for one transaction: the
    /// values are those of different rows, which are in the database.
    func mayExceed(_ limits: PartitionLimits, count: Int) -> Bool {
        size > limits.bytesMax || count > limits.factsMax / factsMax
    }

    /// The facts that a change makes, at most.
    /// - Throws: `badData` for layouts that cannot be read; SQLite errors.
    func factCount(of change: NetChange) throws -> Int {
        guard change.kind == .insert, let logged = try tables.find(change.entity) else {
            return max(1, change.mask.positions.count)
        }
        return 1 + storage.schema.merge.entities[logged.position].cells.count
    }

    /// The rank of the table of a change: parents have a lower one than their children.
    /// - Throws: as ``factCount(of:)``.
    func rank(of change: NetChange) throws -> Int? {
        try tables.find(change.entity).flatMap { ranks[$0.position] }
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
        // Columns of integers and reals have nothing large.
        let lengths = places.filter {
            !table.key.contains($0) && ![.integer, .real].contains(table.affinities[$0])
        }.map { "coalesce(length(\(SQLName.quoted(table.columns[$0]))), 0)" }
        guard !lengths.isEmpty else { return nil }
        return try Statement(
            table.select(computing: lengths.joined(separator: " + ")), on: storage.connection)
    }
}

import GRDB
import SyncCore

/// The statements of one save, prepared once for each entity and set of columns. Confined to the
/// connection's queue.
final class SaveStatements {
    /// A statement, and the slots whose values it is given, in order.
    struct Prepared {
        let statement: RawStatement
        let slots: [Int]
    }

    private struct Shape: Hashable {
        let entity: ObjectIdentifier
        let changed: [Int]
    }

    private let db: Database
    private var inserts: [ObjectIdentifier: Prepared] = [:]
    private var updates: [Shape: Prepared] = [:]
    private var deletes: [ObjectIdentifier: Prepared] = [:]

    init(_ db: Database) { self.db = db }

    /// Inserts a row into a managed table: key, kind where there is one, slots.
    func insert(_ entity: EntityLayout) throws -> Prepared {
        if let known = inserts[ObjectIdentifier(entity)] { return known }
        let table = entity.table
        let slots = stored(entity)
        let names =
            table.key.map(\.column) + (table.kindColumn.map { [$0] } ?? [])
            + slots.map { column(of: entity, slot: $0) }
        let new = Prepared(
            statement: try RawStatement(
                db,
                sql: "INSERT INTO \(SQLText.quoted(table.name))(\(SQLText.list(names)))"
                    + " VALUES (\(SQLText.marks(names.count)))"), slots: slots)
        inserts[ObjectIdentifier(entity)] = new
        return new
    }

    /// Sets the changed slots of a row that has a key and is what the context had read: the slots
    /// are those to compare.
    func update(_ entity: EntityLayout, changing changed: [Int]) throws -> Prepared {
        let shape = Shape(entity: ObjectIdentifier(entity), changed: changed)
        if let known = updates[shape] { return known }
        let sets = changed.map { SQLText.quoted(column(of: entity, slot: $0)) + " = ?" }
        let new = Prepared(
            statement: try RawStatement(
                db,
                sql: "UPDATE \(SQLText.quoted(entity.table.name)) SET "
                    + sets.joined(separator: ", ") + " WHERE \(unchanged(entity))"),
            slots: stored(entity))
        updates[shape] = new
        return new
    }

    /// Deletes a row that has a key and is what the context had read.
    func delete(_ entity: EntityLayout) throws -> Prepared {
        if let known = deletes[ObjectIdentifier(entity)] { return known }
        let new = Prepared(
            statement: try RawStatement(
                db,
                sql: "DELETE FROM \(SQLText.quoted(entity.table.name)) WHERE \(unchanged(entity))"),
            slots: stored(entity))
        deletes[ObjectIdentifier(entity)] = new
        return new
    }

    /// Text is compared by its bytes, whatever the column's collation.
    private func unchanged(_ entity: EntityLayout) -> String {
        let key = entity.table.key.map { SQLText.quoted($0.column) + " = ?" }
        let values = stored(entity).map {
            SQLText.quoted(column(of: entity, slot: $0)) + " IS ? COLLATE BINARY"
        }
        return (key + values).joined(separator: " AND ")
    }

    private func stored(_ entity: EntityLayout) -> [Int] {
        entity.slots.indices.filter {
            entity.slots[$0].column != nil && !entity.slots[$0].isDerived
        }
    }

    private func column(of entity: EntityLayout, slot: Int) -> String {
        entity.slots[slot].column.map { entity.table.columns[$0].name } ?? ""
    }
}

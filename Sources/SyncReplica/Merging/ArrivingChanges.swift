import SyncCore
import SyncMerge

/// The changes of a batch's transactions, with this replica's numbers: a batch names entities and
/// cells by their positions in the sender's schema.
struct ArrivingChanges {
    /// By the sender's entity: this replica's; nil when it has no such table, or one with another
    /// key.
    private let known: [CellMap?]
    /// By the sender's entity: its number in `syncd_shape`, and its cells there.
    private let kept: [Int: (number: Int64, cells: CellMap)]

    /// - Throws: SQLite errors: entities that are new here get a number.
    init(_ batch: Batch, schema: MergeSchema, shapes: Shapes) throws {
        var places: [String: Int] = [:]
        for (position, entity) in schema.entities.enumerated() {
            places[Collation.lowercased(entity.name)] = position
        }
        known = batch.entities.map { entity in
            places[Collation.lowercased(entity.name)].flatMap { place in
                entity.identifiesRows(as: schema.entities[place])
                    ? CellMap(from: entity, place: place, to: schema.entities[place]) : nil
            }
        }
        var kept: [Int: (number: Int64, cells: CellMap)] = [:]
        for entity in Set(batch.transactions.flatMap { $0.changes.map(\.entity) }).sorted() {
            if let map = known[entity] {
                kept[entity] = (shapes.number(of: map.place), map)
                continue
            }
            let (number, cells) = try shapes.foreign(batch.entities[entity])
            kept[entity] = (number, CellMap(from: batch.entities[entity], place: 0, cells: cells))
        }
        self.kept = kept
    }

    /// What this replica can show of a transaction.
    func shown(_ transaction: Batch.Transaction) -> Batch.Transaction {
        var transaction = transaction
        transaction.changes = transaction.changes.compactMap { change in
            known[change.entity].map {
                Batch.Change(
                    change.object, entity: $0.place, kind: change.kind,
                    cells: $0.resolved(change.cells))
            }
        }
        return transaction
    }

    /// A transaction as `syncd_header` keeps it.
    func details(of transaction: Batch.Transaction) -> [UInt8] {
        var transaction = transaction
        transaction.changes = transaction.changes.map { change in
            var change = change
            change.cells = kept[change.entity]?.cells.resolved(change.cells) ?? []
            return change
        }
        return HeaderDetails.encode(transaction) { kept[$0]?.number ?? 0 }
    }
}

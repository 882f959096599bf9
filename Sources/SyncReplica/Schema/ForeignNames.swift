import SyncMerge
import SyncStorage

/// What other replicas call entities and columns that this one never had, where that is not their
/// identity: a table or column that is added here under such a name is the same one.
struct ForeignNames: Sendable, Hashable {
    /// A name of an identity.
    struct Item: Sendable, Hashable {
        let identity: String
        var name: String
    }

    /// Entities that have no table here.
    private(set) var entities: [Item] = []
    /// Columns that are not here, by the folded identity of their entity.
    private(set) var columns: [String: [Item]] = [:]

    var isEmpty: Bool { entities.isEmpty && columns.isEmpty }

    /// The entity that others call so; the one with the last identity of several.
    func entity(named name: String) -> String? { Self.identity(of: name, among: entities) }

    /// The column of an entity that others call so.
    func column(named name: String, of entity: String) -> String? {
        Self.identity(of: name, among: columns[SQLName.folded(entity)] ?? [])
    }

    private static func identity(of name: String, among items: [Item]) -> String? {
        items.filter { SQLName.isEqual($0.name, to: name) }.map(\.identity).max()
    }

    /// What others call an entity; nil when that is not known.
    func name(ofEntity identity: String) -> String? {
        entities.first { SQLName.isEqual($0.identity, to: identity) }?.name
    }

    /// What others call a column; nil when that is not known.
    func name(ofColumn identity: String, of entity: String) -> String? {
        columns[SQLName.folded(entity)]?.first { SQLName.isEqual($0.identity, to: identity) }?.name
    }

    // MARK: Changes

    /// Sets or removes the name of an entity.
    mutating func set(_ name: String?, ofEntity identity: String) {
        Self.set(name, of: identity, in: &entities)
    }

    /// Sets or removes the name of a column.
    mutating func set(_ name: String?, ofColumn identity: String, of entity: String) {
        var items = columns[SQLName.folded(entity)] ?? []
        Self.set(name, of: identity, in: &items)
        columns[SQLName.folded(entity)] = items.isEmpty ? nil : items
    }

    private static func set(_ name: String?, of identity: String, in items: inout [Item]) {
        items.removeAll { SQLName.isEqual($0.identity, to: identity) }
        if let name { items.append(Item(identity: identity, name: name)) }
    }

    /// Takes over what the sender of a batch calls what is not here.
    /// - Complexity: O(columns of the batch)
    mutating func note(_ batch: Batch, own: SchemaNames) {
        // A signed batch without a name for something that it describes calls it by its identity.
        if !batch.proofs.isEmpty {
            for entity in batch.entities {
                set(nil, ofEntity: entity.name)
                for column in entity.cells.joined() { set(nil, ofColumn: column, of: entity.name) }
            }
        }
        self = noting(batch.names, besides: own)
    }

    /// With what another replica calls that which is not here.
    /// - Complexity: O(columns)
    func noting(_ names: [EntityNames], besides own: SchemaNames) -> ForeignNames {
        var noted = self
        for sent in names {
            if own.entity(sent.entity) == nil { noted.set(sent.name, ofEntity: sent.entity) }
            for (column, name) in sent.columns where own.column(column, of: sent.entity) == nil {
                noted.set(name, ofColumn: column, of: sent.entity)
            }
        }
        return noted
    }

    /// Without what this replica has or had.
    func without(_ own: SchemaNames) -> ForeignNames {
        var rest = self
        for entity in own.entities {
            rest.set(nil, ofEntity: entity.identity)
            for column in entity.columns {
                rest.set(nil, ofColumn: column.identity, of: entity.identity)
            }
        }
        return rest
    }

    /// The names that batches carry: these, and those of this replica.
    func sent(with own: SchemaNames) -> [EntityNames] {
        var names = own.sent
        for item in entities { names.append(EntityNames(entity: item.identity, name: item.name)) }
        for (entity, items) in columns.sorted(by: { $0.key < $1.key }) {
            var place = names.firstIndex { SQLName.isEqual($0.entity, to: entity) }
            if place == nil {
                place = names.count
                let known = own.entity(entity)
                names.append(
                    EntityNames(entity: known?.identity ?? entity, name: known?.name ?? entity))
            }
            guard let place else { continue }
            for item in items { names[place].columns[item.identity] = .some(item.name) }
        }
        return names
    }
}

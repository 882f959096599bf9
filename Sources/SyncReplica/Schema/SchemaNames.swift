import SyncMerge
import SyncStorage

/// What facts call the tables and columns of this replica, and what they are called here:
/// ``SyncMerge/SchemaIdentity``. Names are compared as SQLite compares them.
///
/// Invariants
/// - No two entities have one identity, and no two columns of an entity.
/// - No two entities have one present name, and no two columns of an entity.
/// - An identity is never removed: it is that of a dropped table or column from then on.
struct SchemaNames: Sendable, Hashable {
    /// An entity that this replica has or had.
    struct Entity: Sendable, Hashable {
        /// What facts call it.
        var identity: String
        /// What the table is called, or was when it was dropped; nil: another one has this name.
        var name: String?
        /// The number of the table in `syncd_entity`; nil: dropped, or not looked up yet.
        var number: Int64?
        var columns: [Column] = []
    }

    /// A column that an entity has or had.
    struct Column: Sendable, Hashable {
        /// What facts call it.
        var identity: String
        /// What it is called; nil: it was dropped.
        var name: String?
    }

    private(set) var entities: [Entity]
    /// The entities by folded identity and by folded name; the columns of each alike.
    private let byIdentity: [String: Int]
    private let byName: [String: Int]
    private let columnsByIdentity: [[String: Int]]
    private let columnsByName: [[String: Int]]

    /// - Complexity: O(columns)
    init(_ entities: [Entity] = []) {
        self.entities = entities
        func index<Item>(_ items: [Item], _ name: (Item) -> String?) -> [String: Int] {
            let pairs = items.enumerated().compactMap { place, item in
                name(item).map { (SQLName.folded($0), place) }
            }
            return Dictionary(pairs) { first, _ in first }
        }
        byIdentity = index(entities, \.identity)
        byName = index(entities, \.name)
        columnsByIdentity = entities.map { index($0.columns, \.identity) }
        columnsByName = entities.map { index($0.columns, \.name) }
    }

    // MARK: From names to identities

    private func place(ofTable name: String) -> Int? { byName[SQLName.folded(name)] }

    /// Whether a table is or was called so.
    func hasTable(_ name: String) -> Bool { place(ofTable: name) != nil }

    /// The identity of a table; its name where that is not known here. In the present spelling
    /// where the two differ by case alone.
    func identity(ofTable name: String) -> String {
        guard let place = place(ofTable: name) else { return name }
        return Self.spelled(entities[place].identity, name)
    }

    /// The identity of a column of a table; its name where that is not known here.
    func identity(ofColumn column: String, table: String) -> String {
        guard let place = place(ofTable: table),
            let position = columnsByName[place][SQLName.folded(column)]
        else { return column }
        return Self.spelled(entities[place].columns[position].identity, column)
    }

    private static func spelled(_ identity: String, _ name: String) -> String {
        SQLName.isEqual(identity, to: name) ? name : identity
    }

    // MARK: From identities to names

    /// The entity of an identity; nil when this replica never had it.
    func entity(_ identity: String) -> Entity? {
        byIdentity[SQLName.folded(identity)].map { entities[$0] }
    }

    /// The column of an identity; nil when this replica never had it.
    func column(_ identity: String, of entity: String) -> Column? {
        guard let place = byIdentity[SQLName.folded(entity)] else { return nil }
        return columnsByIdentity[place][SQLName.folded(identity)]
            .map { entities[place].columns[$0] }
    }

    /// What a table is called here; its identity where this replica has none.
    func name(ofEntity identity: String) -> String { entity(identity)?.name ?? identity }

    /// What a column is called here; its identity where this replica has none.
    func name(ofColumn identity: String, of entity: String) -> String {
        column(identity, of: entity)?.name ?? identity
    }

    /// What people call an entity: its name here, or the first name that it had.
    func title(ofEntity identity: String) -> String {
        entity(identity)?.name ?? SchemaIdentity.title(identity)
    }

    /// What people call a column: its name here, or the first name that it had.
    func title(ofColumn identity: String, of entity: String) -> String {
        column(identity, of: entity)?.name ?? SchemaIdentity.title(identity)
    }

    // MARK: Batches

    /// The names that differ from their identities, as batches carry them.
    /// - Complexity: O(columns)
    var sent: [EntityNames] {
        entities.compactMap { entity in
            var columns: [String: String?] = [:]
            for column in entity.columns {
                let isSame = column.name.map { SQLName.isEqual($0, to: column.identity) } ?? false
                if !isSame { columns[column.identity] = .some(column.name) }
            }
            let isSame = entity.name.map { SQLName.isEqual($0, to: entity.identity) } ?? false
            if isSame, columns.isEmpty { return nil }
            return EntityNames(entity: entity.identity, name: entity.name, columns: columns)
        }
    }

    /// What a new replica starts with: the identities of the tables that a sender has.
    /// - Parameters:
    ///   - names: those of the sender.
    ///   - tables: those of the new replica, under the sender's names.
    init(_ names: [EntityNames], tables: [TableSchema]) {
        var entities = names.map { Entity(identity: $0.entity, name: $0.name) }
        func isNamed(_ name: String?, _ other: String) -> Bool {
            name.map { SQLName.isEqual($0, to: other) } ?? false
        }
        for table in tables where !entities.contains(where: { isNamed($0.name, table.name) }) {
            entities.append(Entity(identity: table.name, name: table.name))
        }
        for place in entities.indices {
            let present =
                tables.first { isNamed(entities[place].name, $0.name) }?.storedColumns.map(\.name)
                ?? []
            let sent = names.first { $0.entity == entities[place].identity }?.columns ?? [:]
            // What has a name and is not here was never at the sender, or is not here yet.
            entities[place].columns = sent.sorted { $0.key < $1.key }
                .filter { $0.value.map(present.contains) ?? true }
                .map { Column(identity: $0.key, name: $0.value) }
            for name in present
            where !entities[place].columns.contains(where: { isNamed($0.name, name) }) {
                entities[place].columns.append(Column(identity: name, name: name))
            }
        }
        self.init(entities)
    }
}

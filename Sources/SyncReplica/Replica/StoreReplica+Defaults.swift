import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

extension StoreReplica {
    /// The columns whose default differs from that of another replica, as far as rows show it.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    /// - Complexity: O(schemas), and O(facts) of the tables with such columns
    public func differentDefaults() throws -> [DifferentDefault] {
        try run("defaults") { session in
            try session.transact { try DefaultComparing($0).differences() }
        }
    }

    /// The same of a file; none, and nothing is opened for writing, where all state one schema.
    /// - Throws: as ``Store/open(_:)`` and ``differentDefaults()``.
    package static func differentDefaults(_ path: String) throws -> [DifferentDefault] {
        let store = try Store.open(path, isResolved: false, isMending: false)
        defer { try? store.close() }
        let isAny = try store.reading.read { database in
            guard try ReplicationTables.exist(database.connection),
                try SchemaReader.hasTable("syncd_schema", on: database.connection)
            else { return false }
            let select = try Statement(
                "SELECT count(DISTINCT hash) > 1 FROM syncd_schema", on: database.connection)
            return try select.step() && select.integer(0) != 0
        }
        guard isAny else { return [] }
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        return try replica.differentDefaults()
    }
}

/// Compares the defaults of the columns here with those that other replicas state, by identity.
private struct DefaultComparing {
    private let storage: ReplicaStorage
    private let own: ReplicaID

    init(_ transaction: MergeTransaction) {
        storage = transaction.storage
        own = transaction.identity.replica
    }

    func differences() throws -> [DifferentDefault] {
        let schemas = try storage.schemas.all().filter { $0.dot.replica != own }
        guard !schemas.isEmpty else { return [] }
        var found: [DifferentDefault] = []
        for (position, table) in storage.schema.tables.enumerated() {
            guard let sql = try self.sql(of: table.name) else { continue }
            let defaults = DeclaredDefaults(sql)
            var counts: [Int: Int] = [:]
            for schema in schemas {
                guard let theirs = stated(position, by: schema.content) else { continue }
                for (place, column) in table.columns.enumerated() {
                    let identity = storage.schema.merge.entities[position].columns[place].name
                    guard let there = theirs[SQLName.folded(identity)],
                        !DeclaredDefaults.isEqual(there, defaults[column])
                    else { continue }
                    let rows = try counts[place] ?? count(position, column: place)
                    counts[place] = rows
                    guard rows > 0 else { continue }
                    found.append(
                        DifferentDefault(
                            entity: table.name, column: column, here: defaults[column],
                            there: there, replica: schema.dot.replica, rows: rows))
                }
            }
        }
        return found
    }

    private func sql(of table: String) throws -> String? {
        let select = try Statement(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)",
            on: storage.connection)
        select.bind(table, at: 1)
        return try select.step() ? select.text(0) : nil
    }

    /// The defaults of an entity in a schema, by the folded identities of the columns; nil where
    /// it has none, or does not say what facts call it.
    private func stated(_ position: Int, by content: SchemaContent) -> [String: String]? {
        guard let names = content.names else { return nil }
        let identity = storage.schema.merge.entities[position].name
        let named = names.first { SQLName.isEqual($0.entity, to: identity) }
        let name = named.map(\.name) ?? identity
        let isTaken =
            named == nil
            && names.contains { $0.name.map { SQLName.isEqual($0, to: identity) } ?? false }
        guard let name, !isTaken,
            let object = content.objects.first(where: {
                $0.isTracked && SQLName.isEqual($0.name, to: name)
            })
        else { return nil }
        let defaults = DeclaredDefaults(object.sql)
        var stated: [String: String] = [:]
        for column in defaults.columns {
            let identity = named?.columns.first {
                $0.value.map { SQLName.isEqual($0, to: column) } ?? false
            }?.key
            stated[SQLName.folded(identity ?? column)] = defaults[column]
        }
        return stated
    }

    /// The rows that show a default since their insert.
    private func count(_ entity: Int, column: Int) throws -> Int {
        let described = storage.schema.merge.entities[entity]
        guard let cell = described.cellOfColumn[column],
            let place = described.cells[cell].firstIndex(of: column)
        else { return 0 }
        let value = Field.value(described.columns[column].defaultValue)
        var count = 0
        try storage.objects.forEach(ofEntity: entity) { _, object in
            let isDefault = object.record.cells[cell].contains { version in
                version.value[place] == value
                    && object.record.life.contains {
                        $0.kind == .created && $0.dot == version.dot
                    }
            }
            if object.key != nil, isDefault { count += 1 }
        }
        return count
    }
}

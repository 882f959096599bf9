import SyncStorage
import SyncValues

extension Store {
    /// The object that has this key now; nil when there is no such row.
    ///
    /// - Throws: ``SyncError``: `unknownEntity`; `invalidArgument` for a key with another number of
    ///   parts.
    /// - Complexity: O(log rows), and O(changes of the object) for its incarnation.
    public func object(named name: ObjectName) throws -> ObjectID? {
        var query = HistoryQuery()
        query.object = name
        query.reverse = true
        query.limit = 1
        // History first: it knows the entity's name, and says what is wrong with an unknown one.
        let newest = try history(query).first?.changes.last
        return try explaining("object") {
            try reading.read { reader in
                let folded = SQLName.folded(name.entity)
                guard let entity = reader.catalog.present.first(where: { $0.folded == folded })
                else {
                    return nil
                }
                try entity.check(name.key)
                let isPresent = try rowExists(on: reader.connection, entity: entity, key: name.key)
                guard isPresent else { return nil }
                let incarnation = newest?.kind == .delete ? 0 : newest?.object.incarnation ?? 0
                return ObjectID(
                    store: id, entity: entity.name, key: name.key, incarnation: incarnation)
            }
        }
    }

    private func rowExists(
        on connection: OpaquePointer, entity: TrackedEntity, key: ObjectKey
    ) throws -> Bool {
        let condition = entity.layout.key.map { SQLName.quoted($0) + " IS ?" }
        let row = try Statement(
            "SELECT 1 FROM \(SQLName.quoted(entity.name)) WHERE "
                + condition.joined(separator: " AND "), on: connection)
        for (index, value) in key.values.enumerated() { row.bind(value, at: Int32(index + 1)) }
        return try row.step()
    }
}

extension TrackedEntity {
    /// Ensures that a key has a value for each column of the table's key.
    /// - Throws: `invalidArgument`.
    func check(_ key: ObjectKey) throws {
        let columns = layout.key
        guard columns.count != key.values.count else { return }
        let names = columns.joined(separator: ", ")
        throw SyncError(
            .invalidArgument,
            columns.count == 1
                ? "a key of \(name) is one value, of \(names); this one has \(key.values.count)"
                : "a key of \(name) has \(columns.count) parts, of \(names); this one has "
                    + "\(key.values.count)",
            hint: "Write \(name)/\(columns.map { $0.uppercased() }.joined(separator: ","))")
    }
}

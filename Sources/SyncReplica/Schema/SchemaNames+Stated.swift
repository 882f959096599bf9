import SyncMerge
import SyncStorage

extension SchemaNames {
    /// The names as the schema of this replica states them: those that batches carry, and those of
    /// tables that were dropped.
    /// - Parameter tables: the tables that are here.
    /// - Complexity: O(columns)
    func stated(with tables: [String]) -> [EntityNames] {
        let present = Set(tables.map(SQLName.folded))
        var names = sent
        let known = Set(names.map(\.entity))
        for entity in entities where !known.contains(entity.identity) {
            let isHere = entity.name.map { present.contains(SQLName.folded($0)) } ?? false
            if !isHere { names.append(EntityNames(entity: entity.identity, name: entity.name)) }
        }
        return names
    }

    /// The same identities with other names.
    /// - Parameters:
    ///   - tables: the new names of tables, by folded identity.
    ///   - columns: the new names of columns, by folded identity of the entity and the column.
    /// - Complexity: O(columns)
    func renaming(
        tables: [String: String], columns: [String: [String: String]]
    ) -> SchemaNames {
        SchemaNames(
            entities.map { entity in
                var entity = entity
                let folded = SQLName.folded(entity.identity)
                if let name = tables[folded] { entity.name = name }
                entity.columns = entity.columns.map { column in
                    var column = column
                    if let name = columns[folded]?[SQLName.folded(column.identity)] {
                        column.name = name
                    }
                    return column
                }
                return entity
            })
    }

    /// Those of the entities that have one of some tables.
    func living(in tables: [String]) -> SchemaNames {
        let present = Set(tables.map(SQLName.folded))
        return SchemaNames(
            entities.filter { $0.name.map { present.contains(SQLName.folded($0)) } ?? false })
    }
}

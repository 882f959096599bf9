import GRDB
import SyncValues

extension EntityCatalog {
    /// An entity of the same columns whose log rows hold neither old nor kept values: NULL in their
    /// place would say that they were NULL.
    /// - Throws: the error of SQLite, as for ``EntityTable/insert(name:layout:)``.
    package func withoutValues(_ entity: TrackedEntity, in database: Database) throws
        -> TrackedEntity
    {
        var layout = entity.layout
        guard layout.undo || !layout.kept.isEmpty else { return entity }
        (layout.kept, layout.choice, layout.undo, layout.cascades) = (
            [], CaptureLayout.Choice.none, false, nil
        )
        (layout.previous, layout.renamed) = (entity.id, nil)
        if let known = all.first(where: { $0.isRetired && $0.layout == layout }) { return known }
        let made = try EntityTable(database).insert(name: entity.name, layout: layout)
        try EntityTable(database).retire(made)
        guard let result = try self.entity(made.id) else {
            throw SyncError(.internalFault, "an entity that was just made is not there")
        }
        return result
    }
}

import Foundation
import GRDB
import SyncCore

/// Brings the tables of a store to a model. All in one transaction: a failure leaves the store as
/// it was. History is in other tables and stays.
struct SchemaMigrator {
    let model: ManagedObjectModel
    var migratesAutomatically = true
    var stages: [MigrationStage] = []

    /// Makes the tables, or migrates them. Foreign keys must be off, and no transaction open.
    ///
    /// - Throws: ``ObjectError/Code/incompatibleModel`` when the store was written under another
    ///   model and may not be migrated, ``ObjectError/Code/cannotMigrate`` when it cannot be.
    func run(_ db: Database) throws {
        guard model.tables.contains(where: \.isManaged) else { return }
        try db.inTransaction(.immediate) {
            let metadata = StoreMetadata(db: db)
            if let stored = try metadata.model() {
                guard stored.versionHash != model.versionHash else { return .commit }
                try DerivedAttributes(model: stored).remove(from: db)
                try migrate(from: stored, in: db)
            } else {
                for sql in SchemaSQL(model: model).statements { try db.execute(sql: sql) }
            }
            try metadata.setModel(model)
            try DerivedAttributes(model: model).install(db)
            try db.checkForeignKeys()
            return .commit
        }
    }

    private func migrate(from stored: ManagedObjectModel, in db: Database) throws {
        guard migratesAutomatically else {
            throw ObjectError(
                .incompatibleModel, "the store was written with another model",
                hint:
                    "Set migratesAutomatically, or open it with the model that it was written with",
                details: model.diff(stored).changes.map {
                    ObjectError(
                        .incompatibleModel, $0.description, entity: $0.entity,
                        property: $0.property)
                })
        }
        var current = stored
        for stage in try remainingStages(stored) {
            try stage.before?(db)
            let isVouched = stage.before != nil || stage.after != nil
            try step(from: current, to: stage.model, in: db, vouched: isVouched)
            try stage.after?(db)
            current = stage.model
        }
        if current.versionHash != model.versionHash { try step(from: current, to: model, in: db) }
    }

    /// The stages after the model that the store has; all of them when none is it.
    private func remainingStages(_ stored: ManagedObjectModel) throws -> [MigrationStage] {
        let hashes = stages.map(\.model.versionHash)
        guard Set(hashes).count == hashes.count else {
            throw ObjectError(
                .cannotMigrate, "two stages of the migration have equal models",
                hint: "Set a versionHashModifier in one of them")
        }
        guard let index = hashes.firstIndex(of: stored.versionHash) else { return stages }
        return Array(stages[(index + 1)...])
    }

    private func step(
        from old: ManagedObjectModel, to new: ManagedObjectModel, in db: Database,
        vouched: Bool = false
    ) throws {
        let plan = try MigrationPlan(from: old, to: new, vouched: vouched)
        for sql in plan.statements { try db.execute(sql: sql) }
    }
}

import GRDB
import SyncStorage

/// What ``Tracker/track(entities:options:mending:alongside:)`` has to know of the schema.
///
/// It is read before the write lock is taken, and holds while the schema has the same version.
struct SchemaLook {
    /// The schema's version after the last transaction of this call.
    var version: Int64
    let tables: [TableSchema]
    let context: CaptureContext
    /// Nothing of the database is ours.
    let isUntracked: Bool
    /// The first object of another program whose name is needed.
    let reserved: StoreObjects.Object?
    /// No trigger and no object of the store needs a repair, and no table was renamed.
    let triggersAreRight: Bool

    /// - Throws: the error of SQLite; `notTracked`, `badData` for a store that cannot be read.
    /// - Complexity: O(columns and triggers of the schema)
    init(_ db: Database, for tracker: Tracker) throws {
        try Metadata(db).requireKnownFormat()
        version = try SchemaReader(db).schemaVersion()
        tables = try SchemaReader(db).tables()
        context = try CaptureContext(db)
        let objects = try StoreObjects(db)
        isUntracked = objects.own.isEmpty
        reserved = try isUntracked ? objects.foreign.first : objects.clashes(db).first
        // Whether tables of the store are there is seen again under the lock.
        let isWhole = try !isUntracked && StoreDamage.find(db) == nil
        triggersAreRight =
            try isWhole && !tracker.findings(db).contains(where: \.problem.isDueBeforeTracking)
    }

    /// - Throws: `cannotTrack` when another program's object has a name that is needed.
    func refuseReservedNames() throws {
        guard let reserved else { return }
        throw isUntracked
            ? SyncError(
                .cannotTrack, "the database already has a \(reserved.description)",
                hint: "Names that begin with syncd_ are reserved for syncd: rename or drop it")
            : StoreObjects.clash(reserved)
    }
}

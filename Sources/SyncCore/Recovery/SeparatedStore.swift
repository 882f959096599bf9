import GRDB
import SyncStorage

/// Makes a store that was synchronised a store of its own: what merging keeps goes, and the file
/// gets the identity of a new store.
///
/// The records of merging are of use only under the identity that they were made for. With a new
/// one and without them, no other replica takes what this file sends for something that it knows,
/// and this file refuses what they send.
///
/// Policies stay, whether batches are signed, and the keys: a key may be the only one that opens a
/// remote.
struct SeparatedStore {
    private let db: Database
    private let metadata: Metadata
    private let objects: StoreObjects

    init(_ db: Database, objects: StoreObjects) throws {
        self.db = db
        self.objects = objects
        metadata = try Metadata(db)
    }

    /// Drops the tables of merging and what was noted for them, within the transaction that the
    /// connection is in.
    /// - Parameter areRemotesKept: whether the list of remotes stays; they refuse the new store.
    /// - Throws: the error of SQLite.
    func dropRecords(areRemotesKept: Bool) throws {
        var tables = Set(
            [StoreBlueprint.Part.replication, .extents, .names, .sums, .schema, .remotes]
                .flatMap(StoreBlueprint.tables))
        tables.subtract(Self.keys)
        if areRemotesKept { tables.remove(Self.remotes) }
        try objects.dropOwn(db) { $0.type == "table" && tables.contains($0.name) }
        try metadata.deleteMergeState()
    }

    /// Begins the next epoch: earlier tokens are `foreignHistory`.
    /// - Throws: the error of SQLite.
    func beginEpoch() throws {
        let epoch = max(0, try metadata.integer(.epoch))
        try metadata.set(.epoch, to: .integer(min(epoch, .max - 1) + 1))
    }

    private static let remotes = "syncd_remote"
    private static let keys = ["syncd_key", "syncd_epoch"]
}

extension Tracker {
    /// Takes merging out of a store, with its list of remotes; history, policies and keys stay.
    ///
    /// - Parameter verify: is called within the transaction, before anything is written.
    /// - Throws: `notTracked`, `storeDamaged`, `newerFormat`, `busy`; what `verify` throws.
    /// - Complexity: O(pages of the tables of merging); writers wait meanwhile.
    package func forgetSync(verifying verify: (Database) throws -> Void) throws {
        try write("forget-sync") { db in
            try StoreDamage.requireReadable(db)
            _ = try Migration.requireNoneRunning(in: db)
            try verify(db)
            let separated = try SeparatedStore(db, objects: StoreObjects(db))
            try separated.dropRecords(areRemotesKept: false)
            try separated.beginEpoch()
            try Metadata(db).renewIdentity()
            try rememberSchema(db)
        }
    }
}

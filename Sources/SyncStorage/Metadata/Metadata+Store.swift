import Foundation
import SyncValues

/// What the rows say together about a store, and changes of several rows.
extension Metadata {
    /// Which tables become entities when they are created.
    package enum NewTables: String {
        /// Every table that can be recorded.
        case all
        /// None: the store is a clone, which had no other tables than the recorded ones.
        case cloned
    }

    // MARK: Format

    /// Whether the table is there, whatever version of syncd wrote it.
    /// - Throws: the error of SQLite.
    package func exists() throws -> Bool {
        let columns = try Statement(
            "SELECT name FROM pragma_table_xinfo('syncd_meta', 'main')", on: connection)
        var names: [String] = []
        while try columns.step() { names.append(columns.text(0) ?? "") }
        return names == ["key", "value"]
    }

    /// Accepts a database without the table.
    /// - Throws: `newerFormat` when a newer version of syncd wrote the store.
    package func requireKnownFormat() throws {
        guard try exists() else { return }
        let format = try integerIfPresent(.format) ?? 0
        guard format <= Self.format else {
            throw SyncError(
                .newerFormat,
                "the store has format \(format), this version reads up to \(Self.format)",
                hint: "Install a newer syncd")
        }
    }

    /// What a program has to know that records and merges: the bits of `syncd_meta.writes`.
    package struct Writing: OptionSet {
        package let rawValue: Int64

        package init(rawValue: Int64) { self.rawValue = rawValue }

        /// Tables have shared numbers.
        package static let sharedNumbers = Writing(rawValue: 4)
        /// The identities of objects follow `syncd_meta.births`.
        package static let ascendingIdentities = Writing(rawValue: 64)
        /// Records may be compact.
        package static let compactRecords = Writing(rawValue: 128)
        /// The changes of a transaction may be listed by what differs from the one before.
        package static let shortLists = Writing(rawValue: 256)
        /// What was written after a place is found by `syncd_extent`.
        package static let extents = Writing(rawValue: 512)
        /// Records may have versions of some columns of a cell.
        package static let partialVersions = Writing(rawValue: 1024)
        /// All that this code knows.
        static let known: Writing = [
            .sharedNumbers, .ascendingIdentities, .compactRecords, .shortLists, .extents,
            .partialVersions,
        ]
    }

    /// Accepts a store that this code can record and merge.
    /// - Throws: `newerFormat` for a feature that it does not know; the error of SQLite.
    package func requireKnownWriting() throws {
        let unknown = Writing(rawValue: try integer(.writes)).subtracting(.known)
        guard unknown.isEmpty else {
            throw SyncError(
                .newerFormat,
                "the store uses a feature that this program does not know (\(unknown.rawValue))",
                hint: "Install a newer syncd")
        }
    }

    /// Whether the store uses a feature.
    /// - Throws: the error of SQLite.
    package func uses(_ feature: Writing) throws -> Bool {
        Writing(rawValue: try integer(.writes)).isSuperset(of: feature)
    }

    /// Notes that the store uses a feature.
    /// - Throws: the error of SQLite.
    package func use(_ feature: Writing) throws {
        let present = Writing(rawValue: try integer(.writes))
        if present.isSuperset(of: feature) { return }
        try set(.writes, to: .integer(present.union(feature).rawValue))
    }

    /// The error for a database without a store.
    package static let notTracked = SyncError(
        .notTracked, "the database is not tracked", hint: "Run: synctool track DB")

    // MARK: Identity

    /// Writes the rows of a new store of which this file is the first replica.
    /// - Throws: the error of SQLite.
    package func createStore() throws {
        try set(.format, to: .integer(Self.format))
        try renewIdentity()
        try set(.epoch, to: .integer(1))
        try set(.births, to: .integer(0))
        try use(.ascendingIdentities)
        try Statement(
            """
            INSERT INTO syncd_meta(key, value)
            VALUES('created', CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))
            """, on: connection
        ).run()
    }

    /// Makes it another store, and its file another replica.
    /// - Throws: the error of SQLite.
    package func renewIdentity() throws {
        try set(.store, to: .blob(StoreID.random().bytes))
        try set(.replica, to: .blob(ReplicaID.random().bytes))
    }

    /// Whether the rows identify a store and a replica.
    /// - Throws: the error of SQLite.
    package func hasIdentity() throws -> Bool {
        try integer(
            """
            SELECT count(*) = 3 FROM syncd_meta
            WHERE key IN ('store', 'replica') AND typeof(value) = 'blob' AND length(value) = 16
              OR key = 'format' AND typeof(value) = 'integer' AND value >= 1
            """) != 0
    }

    /// Whether the rows say which file the replica lives in: they do once history is kept.
    /// - Throws: the error of SQLite.
    package func hasFile() throws -> Bool {
        try integer("SELECT EXISTS(SELECT 1 FROM syncd_meta WHERE key = 'file')") != 0
    }

    /// The identifier of the store.
    /// - Throws: `corrupt` when the row is missing or is no identifier.
    package func storeID() throws -> StoreID { try identifier(.store) }

    /// The identifier of the replica.
    /// - Throws: `corrupt` when the row is missing or is no identifier.
    package func replicaID() throws -> ReplicaID { try identifier(.replica) }

    private func identifier<ID: Identifier>(_ key: Key) throws -> ID {
        guard case .blob(let bytes) = try value(key), let id = ID(bytes: bytes) else {
            throw Self.noIdentity
        }
        return id
    }

    /// The error for a store whose identity cannot be read.
    package static let noIdentity = SyncError(
        .corrupt, "the table syncd_meta has no valid identity", hint: startOverHint)

    // MARK: Tables

    /// Whether each new table becomes an entity.
    /// - Throws: the error of SQLite.
    package func recordsNewTables() throws -> Bool { try text(.tables) == NewTables.all.rawValue }

    /// Whether a table that is not recorded was created after the choice of tables was made.
    /// - Throws: the error of SQLite.
    package func namesNewTables() throws -> Bool {
        try text(.tables).flatMap(NewTables.init(rawValue:)) != nil
    }

    /// Sets which new tables are recorded.
    /// - Throws: the error of SQLite.
    package func setNewTables(_ choice: NewTables) throws {
        try set(.tables, to: .text(choice.rawValue))
    }

    // MARK: Merging

    /// Whether the rows of the tables were translated to facts: there are records to compare the
    /// tables with.
    /// - Throws: the error of SQLite.
    package func isStated() throws -> Bool { try integerIfPresent(.stated) != nil }

    /// Whether a batch was sent or merged, that is, the clock of merging was read. False without
    /// the table.
    /// - Throws: the error of SQLite.
    package func hasMerged() throws -> Bool {
        guard try exists() else { return false }
        return try integer(
            """
            SELECT EXISTS(SELECT 1 FROM syncd_meta
            WHERE key IN ('stated', 'clock') AND value <> 0)
            """) != 0
    }

    /// The folded names of the tables that were dropped after their rows were translated to facts.
    /// - Throws: `DecodingError` for a value that is not JSON; the error of SQLite.
    package func goneTables() throws -> [String] {
        guard let json = try text(.gone) else { return [] }
        return try JSONDecoder().decode([String].self, from: Data(json.utf8))
    }

    /// Stores ``goneTables()``; duplicates are dropped.
    /// - Throws: the error of SQLite.
    package func setGoneTables(_ tables: [String]) throws {
        let json = try JSONEncoder().encode(Array(Set(tables)).sorted())
        try set(.gone, to: .text(String(decoding: json, as: UTF8.self)))
    }

    // MARK: Fingerprints

    /// For lineages whose fingerprints a comparison brought up to date: the last seq of the log
    /// then. A value that is not such a list counts as none.
    /// - Throws: the error of SQLite.
    package func currentFingerprints() throws -> [Int64: Int64] {
        guard let json = try text(.current),
            let stored = try? JSONDecoder().decode([String: Int64].self, from: Data(json.utf8))
        else { return [:] }
        let pairs = stored.compactMap { name, seq in Int64(name).map { ($0, seq) } }
        return Dictionary(pairs, uniquingKeysWith: max)
    }

    /// Adds to ``currentFingerprints()``; what `fingerprinted` has reached is dropped.
    /// - Throws: `corrupt` when `fingerprinted` is no position; the error of SQLite.
    package func setFingerprints(of lineages: Set<Int64>, currentAt seq: Int64) throws {
        let reached = try position(.fingerprinted)
        var list = try currentFingerprints().filter { $0.value > reached }
        for lineage in lineages { list[lineage] = seq }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let named = Dictionary(uniqueKeysWithValues: list.map { (String($0), $1) })
        try set(.current, to: .text(String(decoding: encoder.encode(named), as: UTF8.self)))
    }

    // MARK: Repair

    /// The greatest position that any row has; 0 when there is none.
    /// - Throws: the error of SQLite.
    package func newestPosition() throws -> Int64 {
        max(
            0,
            try integer(
                """
                SELECT max(value) FROM syncd_meta WHERE typeof(value) = 'integer'
                  AND key IN ('digested', 'purged', 'stated', 'fingerprinted')
                """))
    }

    /// Deletes every row.
    /// - Throws: the error of SQLite.
    package func deleteAll() throws {
        try Statement("DELETE FROM syncd_meta", on: connection).run()
    }

    /// Deletes the rows of merging, except the policies and whether batches are signed.
    /// - Throws: the error of SQLite.
    package func deleteMergeState() throws {
        try Statement(
            """
            DELETE FROM syncd_meta
            WHERE key IN ('stated', 'clock', 'former', 'collected', 'behind', 'collectedAt',
                'sent', 'unseen', 'gone', 'keys', 'named', 'renamed', 'goal', 'structure', 'shown',
                'schemas', 'joined', 'doubted', 'returned', 'answered', 'decided', 'unread',
                'exchanges', 'uncompared')
            """, on: connection
        ).run()
        let present = Writing(rawValue: try integer(.writes))
        let kept = present.subtracting([
            .compactRecords, .shortLists, .extents, .partialVersions,
        ])
        if kept != present { try set(.writes, to: .integer(kept.rawValue)) }
    }

    private func integer(_ sql: String) throws -> Int64 {
        let statement = try Statement(sql, on: connection)
        return try statement.step() ? statement.integer(0) : 0
    }
}

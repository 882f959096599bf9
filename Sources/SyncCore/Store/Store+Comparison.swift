import GRDB
import SyncStorage
import SyncValues

extension Store {
    /// When all rows of the tables were last compared with what was recorded of them; nil: never.
    ///
    /// - Throws: ``SyncError``: `notTracked` and what opening throws.
    public static func lastComparison(_ path: String) throws -> Timestamp? {
        try explaining("status", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { try FullComparison.last(in: Metadata($0)) }
        }
    }

    /// When that was; nil: never.
    ///
    /// - Throws: ``SyncError``: `busy`, `storeReplaced`.
    package func lastComparison() throws -> Timestamp? {
        try explaining("status") { try reading.read { try FullComparison.last(in: $0.metadata) } }
    }

    /// Compares all rows with what was recorded of them: a program that switched triggers off
    /// leaves no other trace. Writes nothing. Tables without fingerprints are left out
    /// (``tablesWithoutFingerprints(_:)``).
    ///
    /// - Returns: nil when they were not compared: the store merges, and compares its rows with
    ///   what it merged (``mend(_:comparing:)``); or its schema has just changed.
    /// - Throws: ``SyncError``: `notTracked` and what opening throws.
    /// - Complexity: O(rows), about a microsecond each. In the rollback journal modes writers wait
    ///   for a slice of it, a millisecond or two.
    public static func missedChanges(_ path: String) throws -> MissedChanges? {
        try explaining("compare", at: path) { try FullComparison(looking: path).look() }
    }

    /// The tables of which not all rows have a fingerprint yet: what is written there while
    /// triggers are missing is not found. None in a store that merges, which has records of its
    /// rows.
    ///
    /// - Throws: ``SyncError``: `notTracked` and what opening throws.
    public static func tablesWithoutFingerprints(_ path: String) throws -> [String] {
        try explaining("status", at: path) {
            let queue = try DatabaseOpener.open(path, for: .reading)
            defer { try? queue.close() }
            return try queue.read { db in
                let connection = try db.openConnection
                if try Metadata(connection).isStated() { return [] }
                let complete =
                    try FingerprintTable.exists(connection)
                    ? FingerprintTable.complete(connection) : []
                return try EntityTable(db).live().filter { !complete.contains($0.lineage) }
                    .map(\.name)
            }
        }
    }

    /// How long that is ago, or the tracking when there was none.
    ///
    /// - Throws: ``SyncError``: `busy`, `storeReplaced`.
    package func timeSinceComparison(at now: Timestamp = .now()) throws -> Duration {
        try explaining("status") {
            try reading.read { reader in
                let last = try FullComparison.last(in: reader.metadata)
                let since = try last?.milliseconds ?? reader.metadata.integer(.created)
                // A process that can write the database can write these values, too. One in the
                // future is of a clock that was set back since: nothing is known of how long ago.
                let passed = now.milliseconds.subtractingReportingOverflow(since)
                let isKnown = !passed.overflow && passed.partialValue >= 0
                return .milliseconds(isKnown ? passed.partialValue : .max)
            }
        }
    }

    /// A comparison of all rows, at its beginning.
    ///
    /// - Throws: ``SyncError``: what opening throws.
    package func fullComparison() throws -> FullComparison {
        try explaining("compare") { try FullComparison(path, file: file) }
    }
}

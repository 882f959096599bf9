import SyncStorage
import SyncValues

/// The rows of `syncd_meta`, read and written within the transaction that the connection is in.
///
/// Confined to its connection's queue.
package final class Settings {
    /// What is stored; docs/store-format.md §1.6.
    package enum Key: String {
        case format, store, replica, epoch, file, schema, digested, purged, created, fingerprinted
        /// Merging: the last transaction that was stated as facts, the newest reading of the hybrid
        /// clock, what the owner chose, who the file was before it was copied, up to which
        /// log row, and the newest transaction of its own that anybody may have.
        case stated, clock, policies, former, sent
        /// Collecting: what all replicas have merged, up to which what nobody needs was dropped; up
        /// to where others have done so before this one knew; when it was done last, ms since 1970.
        case collected, behind, collectedAt
        /// Merging: 1 while the tables may hold what neither the log nor the records have; the
        /// tables that were dropped since they were stated, and the key columns of those that were
        /// stated, as JSON.
        case unseen, gone, keys
    }

    /// What to do about settings that make no sense.
    static let startOver =
        "Restore a backup, or start over: synctool untrack DB, synctool track DB"

    private let select: Statement
    private let upsert: Statement

    package init(_ connection: OpaquePointer) throws {
        select = try Statement(connection, "SELECT value FROM syncd_meta WHERE key = ?1")
        upsert = try Statement(
            connection,
            """
            INSERT INTO syncd_meta(key, value) VALUES (?1, ?2)
            ON CONFLICT(key) DO UPDATE SET value = excluded.value
            """)
    }

    package func value(_ key: Key) throws -> Value {
        select.bind(1, key.rawValue)
        defer { select.reset() }
        return try select.step() ? select.value(0) : .null
    }

    package func integer(_ key: Key) throws -> Int64 {
        if case .integer(let value) = try value(key) { return value }
        return 0
    }

    /// A position in the log or in history: 0 when there is none.
    /// - Throws: `corrupt` for what no position can be.
    package func position(_ key: Key) throws -> Int64 {
        let value = try value(key)
        if value == .null { return 0 }
        guard case .integer(let position) = value, 0...LogReader.seqMax ~= position else {
            throw SyncError(
                .corrupt, "the setting \(key.rawValue) in syncd_meta is no position: \(value)",
                hint: Self.startOver)
        }
        return position
    }

    package func set(_ key: Key, _ value: Value) throws {
        try upsert.run(.text(key.rawValue), value)
    }
}

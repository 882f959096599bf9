import Foundation
import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_met`: the last comparison with each other replica; and the setting `uncompared`: the
/// tables that were not in it.
///
/// Statements are prepared when they are used. Confined to its connection's queue.
struct PeerComparisons {
    /// The last comparison with a replica.
    struct Entry: Hashable {
        let replica: ReplicaID
        /// The moment that was compared.
        var at: [UInt8]
        /// Milliseconds since 1970.
        var time: Int64
        /// How many moments were compared in all.
        var count: Int64
        /// The names of the entities that differ; empty: the replicas were equal.
        var entities: [String]
        /// The names of those that cannot be compared: only one of the replicas has the table, or
        /// in other columns.
        var uncompared: [String]
        /// Whether there was nothing else to compare.
        var isNone: Bool
    }

    private let connection: OpaquePointer
    private let replicas: ReplicaNames

    init(_ connection: OpaquePointer, replicas: ReplicaNames) {
        self.connection = connection
        self.replicas = replicas
    }

    /// The last comparison with each replica.
    /// - Throws: SQLite errors; `corrupt` for an unknown replica; `DecodingError` for names that
    ///   are no JSON.
    func all() throws -> [Entry] {
        let select = try Statement(
            "SELECT replica, at, time, count, entities FROM syncd_met ORDER BY replica",
            on: connection)
        let uncompared = try UncomparedTables(connection)
        var entries: [Entry] = []
        while try select.step() {
            let names = Data((select.text(4) ?? "[]").utf8)
            let replica = try replicas.name(of: select.integer(0))
            let at = select.blob(1) ?? []
            let left = uncompared.tables(of: replica, at: at)
            entries.append(
                Entry(
                    replica: replica, at: at, time: select.integer(2), count: select.integer(3),
                    entities: try JSONDecoder().decode([String].self, from: names),
                    uncompared: left.names, isNone: left.isAll))
        }
        return entries
    }

    /// Drops the comparisons that found a difference: the next one finds it again if it remains.
    /// - Throws: SQLite errors.
    func forgetDifferences() throws {
        try Statement("DELETE FROM syncd_met WHERE entities <> '[]'", on: connection).run()
    }

    /// Stores a comparison.
    /// - Throws: SQLite errors.
    func write(_ entry: Entry) throws {
        let names = String(decoding: try JSONEncoder().encode(entry.entities), as: UTF8.self)
        try Statement(
            """
            INSERT INTO syncd_met(replica, at, time, count, entities) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT(replica) DO UPDATE SET at = excluded.at, time = excluded.time,
              count = excluded.count, entities = excluded.entities
            """, on: connection
        ).run(
            .integer(try replicas.number(of: entry.replica)), .blob(entry.at),
            .integer(entry.time), .integer(entry.count), .text(names))
        var uncompared = try UncomparedTables(connection)
        try uncompared.set(
            entry.uncompared, isAll: entry.isNone, of: entry.replica, at: entry.at)
    }
}

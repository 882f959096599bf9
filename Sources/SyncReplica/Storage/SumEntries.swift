import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_sum`: the newest ``StateSums`` of this replica, by the moment that they are of: a replica
/// that gets to where this one was can still be compared.
///
/// Statements are prepared when they are used. Confined to its connection's queue.
struct SumEntries {
    /// How many are kept. With fewer, replicas that exchange rarely have no moment in common; with
    /// more, the table of a store with many entities grows: 50 take 2.5 kB each.
    static let countMax: Int64 = 64

    private let connection: OpaquePointer
    private let store: StoreID

    init(_ connection: OpaquePointer, store: StoreID) {
        self.connection = connection
        self.store = store
    }

    /// The sums of a moment; nil where there are none, or none that can be read: they are computed
    /// data, and a damaged row is none.
    /// - Throws: as every method here: SQLite errors.
    func sums(at: [UInt8]) throws -> StateSums? {
        let select = try Statement("SELECT sums FROM syncd_sum WHERE at = ?1", on: connection)
        select.bind(at, at: 1)
        guard try select.step(), let bytes = select.blob(0) else { return nil }
        return try? StateSums(bytes, store: store)
    }

    /// The newest sums.
    func newest() throws -> StateSums? {
        let select = try Statement(
            "SELECT sums FROM syncd_sum ORDER BY id DESC LIMIT 1", on: connection)
        guard try select.step(), let bytes = select.blob(0) else { return nil }
        return try? StateSums(bytes, store: store)
    }

    /// Stores sums as the newest ones, and drops the oldest beyond the limit.
    func write(_ sums: StateSums) throws {
        try Statement("DELETE FROM syncd_sum WHERE at = ?1", on: connection)
            .run(.blob(sums.at))
        try Statement("INSERT INTO syncd_sum(at, sums) VALUES (?1, ?2)", on: connection)
            .run(.blob(sums.at), .blob(sums.encoded(store: store)))
        try Statement(
            """
            DELETE FROM syncd_sum WHERE id NOT IN (
              SELECT id FROM syncd_sum ORDER BY id DESC LIMIT \(Self.countMax))
            """, on: connection
        ).run()
    }

    /// Drops all.
    func forget() throws { try Statement("DELETE FROM syncd_sum", on: connection).run() }
}

import SyncStorage
import SyncValues

/// The rows of `syncd_consumer`. The only type that reads or writes the table.
///
/// Within the transaction that the connection is in.
enum ConsumerTable {
    static let name = "syncd_consumer"

    static let creation = """
        CREATE TABLE IF NOT EXISTS syncd_consumer(
          name TEXT PRIMARY KEY, kind TEXT, acknowledged INTEGER, lease INTEGER, seen INTEGER,
          created INTEGER) WITHOUT ROWID
        """

    /// Raises the position of the consumer ?1 to ?2 and its last sign of life to ?3.
    static let acknowledgeSQL = """
        UPDATE syncd_consumer SET acknowledged = max(acknowledged, ?2), seen = max(seen, ?3)
        WHERE name = ?1
        """

    static func all(_ connection: OpaquePointer) throws -> [Consumer] {
        let select = try Statement(selection + " ORDER BY name", on: connection)
        var result: [Consumer] = []
        while try select.step() { result.append(consumer(select)) }
        return result
    }

    /// - Throws: `unknownConsumer`.
    static func find(on connection: OpaquePointer, named name: String) throws -> Consumer {
        let select = try Statement(selection + " WHERE name = ?1", on: connection)
        select.bind(name, at: 1)
        defer { select.reset() }
        guard try select.step() else { throw try unknown(name, on: connection) }
        return consumer(select)
    }

    static func upsert(
        on connection: OpaquePointer, name: String, kind: Consumer.Kind, lease: Duration?,
        seen: Timestamp, created: Timestamp
    ) throws {
        let upsert = try Statement(
            """
            INSERT INTO syncd_consumer(name, kind, acknowledged, lease, seen, created)
            VALUES (?1, ?2, 0, ?3, ?4, ?5)
            ON CONFLICT(name) DO UPDATE SET kind = ?2, lease = ?3, seen = ?4
            """, on: connection)
        try upsert.run(
            .text(name), .text(kind.rawValue), lease.map { .integer($0.milliseconds) } ?? .null,
            .integer(seen.milliseconds), .integer(created.milliseconds))
    }

    static func delete(on connection: OpaquePointer, named name: String) throws {
        _ = try find(on: connection, named: name)
        try Statement("DELETE FROM syncd_consumer WHERE name = ?1", on: connection).run(
            .text(name))
    }

    private static let selection =
        "SELECT name, kind, acknowledged, lease, seen, created FROM syncd_consumer"

    private static func consumer(_ row: Statement) -> Consumer {
        Consumer(
            name: row.text(0) ?? "", kind: Consumer.Kind(rawValue: row.text(1) ?? "") ?? .reader,
            acknowledged: row.integer(2),
            lease: row.integerOrNil(3).map(Duration.milliseconds),
            lastSeen: Timestamp(milliseconds: row.integer(4)),
            created: Timestamp(milliseconds: row.integer(5)))
    }

    private static func unknown(
        _ name: String, on connection: OpaquePointer
    ) throws -> SyncError {
        let names = try all(connection).map(\.name)
        return SyncError(
            .unknownConsumer, "no consumer '\(name.printable(countMax: 200))' is registered",
            hint: SimilarName.question(name, among: names)
                + "List the consumers: synctool consumers DB")
    }
}

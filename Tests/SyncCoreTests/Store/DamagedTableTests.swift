import Testing

@testable import SyncCore
@testable import SyncValues

/// Values in our own tables that no version of this program wrote: an error with a code, or an
/// answer, but the process goes on.
@Suite struct DamagedTableTests {
    private static let sources = [
        "INSERT INTO syncd_log(seq, op, m, ts, pk, v0) VALUES (9223372036854775807, 11, 0, 1, 5, 1)",
        "INSERT INTO syncd_log(seq, op, m, ts, pk, v0) VALUES (9223372036854775806, 11, 0, 1, 5, 1)",
        "UPDATE syncd_meta SET value = 9223372036854775807 WHERE key = 'epoch'",
        "UPDATE syncd_meta SET value = -9223372036854775808 WHERE key = 'digested'",
        "UPDATE syncd_meta SET value = 9223372036854775807 WHERE key = 'digested'",
        "UPDATE syncd_transaction SET first = -9223372036854775808",
        "UPDATE syncd_entity SET name = x'00ff'", "UPDATE syncd_entity SET name = NULL",
        "UPDATE syncd_entity SET layout = x'00'", "UPDATE syncd_entity SET retired = 'x'",
        "UPDATE syncd_entity SET id = -id",
        """
        UPDATE syncd_entity
        SET layout = '{"key":["id"],"columns":["id"],"kept":[99999999999],"undo":false}'
        """,
        """
        UPDATE syncd_entity
        SET layout = '{"key":["id"],"columns":["id","a"],"kept":[1],"undo":true,"previous":1}'
        """,
        """
        UPDATE syncd_entity SET layout = '{"key":[],"columns":[],"kept":[],"undo":false}'
        """,
        "UPDATE syncd_consumer SET seen = -9223372036854775808, lease = 9223372036854775807",
        "UPDATE syncd_consumer SET seen = 9223372036854775807, lease = -9223372036854775808",
    ]

    @Test(arguments: sources, [true, false])
    func aValueThatNobodyWroteIsNoCrash(_ damage: String, wal: Bool) throws {
        let database = try TestDatabase(
            wal: wal, "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT)",
            "CREATE TABLE part(id INTEGER PRIMARY KEY, i INTEGER REFERENCES item ON DELETE CASCADE)"
        )
        let store = try database.store(["item": CaptureOptions(undo: true)])
        try store.register(consumer: "c", lease: .seconds(10))
        try database.sql("INSERT INTO item VALUES (1, 'x'), (2, 'y')")
        try database.sql("INSERT INTO part VALUES (1, 1)")
        _ = try store.digest()
        try database.sql("DELETE FROM item WHERE id = 1")
        try store.close()
        try database.sql(damage)
        exercise(database)
        // What SQLite itself can still write.
        try? database.sql("INSERT INTO item VALUES (3, 'z')")
        try? database.sql("DELETE FROM item")
        exercise(database)
    }

    private func exercise(_ database: TestDatabase) {
        func attempt(_ body: () throws -> Void) {
            do { try body() } catch is SyncError {} catch {
                Issue.record("not a SyncError: \(error)")
            }
        }
        var opened: Store?
        attempt { opened = try Store.open(database.path) }
        guard let store = opened else { return }
        attempt { _ = try store.poll() }
        attempt { _ = try store.history() }
        attempt { _ = try store.status() }
        attempt { _ = try store.verifyCapture() }
        attempt { _ = try store.digest() }
        attempt { _ = try store.history() }
        attempt { _ = try store.consumers().map { $0.holdsHistory(at: .now()) } }
        attempt { _ = try store.restore(.init(path: "item/1")) }
        attempt { _ = try store.purge(beyond: HistoryLimits(age: .seconds(1), bytes: .max)) }
        attempt { _ = try store.purge(force: true) }
        attempt { try store.close() }
    }

    @Test func aLogThatIsFullIsNamed() throws {
        let database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT)")
        try database.store().close()
        try database.sql(Self.sources[0])
        #expect(throws: SyncError(.corrupt, "")) { try Store.open(database.path) }
    }

    @Test func aDurationBeyondTheRangeIsCutOff() {
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.seconds(Int64.min).milliseconds == .min)
        #expect(Duration.milliseconds(-1).milliseconds == -1)
        #expect(Duration.milliseconds(Int64.max).milliseconds == .max)
    }
}

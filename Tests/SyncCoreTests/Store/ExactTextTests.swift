import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// Keys and values whose text is not UTF-8, or has a NUL in it: SQLite stores any bytes as text.
@Suite struct ExactTextTests {
    /// Texts that a replacement character, or an end at NUL, would make equal.
    private static let texts = [
        "80", "81", "ff", "6100", "610062", "610063", "efbfbd", "c3", "c328",
    ]

    private let database: TestDatabase

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE item(id TEXT PRIMARY KEY, a TEXT, b TEXT) WITHOUT ROWID",
            "CREATE TABLE pair(x TEXT, y TEXT, v TEXT, PRIMARY KEY(x, y))")
        for text in Self.texts {
            try database.sql("INSERT INTO item VALUES (\(Self.sql(text)), \(Self.sql(text)), 'b')")
        }
    }

    private static func sql(_ bytes: String) -> String { "CAST(x'\(bytes)' AS TEXT)" }

    private static func value(_ bytes: String) throws -> Value {
        .text(String(textBytes: try #require(Hex.decode(bytes))))
    }

    private func state() throws -> [[Value]] {
        try database.rows(
            """
            SELECT hex(id), hex(a), hex(b) FROM item UNION ALL SELECT hex(x), hex(y), hex(v)
            FROM pair ORDER BY 1, 2
            """)
    }

    @Test(arguments: [false, true])
    func historyTellsThemExactlyAndTakesThemBack(isDigested: Bool) throws {
        let options = CaptureOptions(undo: true)
        let store = try database.store(["item": options, "pair": options])
        defer { try? store.close() }
        while try store.digest() {}
        let before = try state()
        try database.sql("BEGIN")
        for (index, text) in Self.texts.enumerated() {
            let other = Self.texts[(index + 1) % Self.texts.count]
            try database.sql(
                "UPDATE item SET a = \(Self.sql(other)), b = a WHERE id = \(Self.sql(text))")
            try database.sql(
                "INSERT INTO pair VALUES (\(Self.sql(text)), \(Self.sql(other)), \(Self.sql(text)))"
            )
        }
        try database.sql("DELETE FROM item WHERE id IN (\(Self.sql("81")), \(Self.sql("610062")))")
        try database.sql("COMMIT")
        let after = try state()
        if isDigested { while try store.digest() {} }
        let told = try #require(try store.history().last)
        let names = Set(told.changes.map(\.object.key))
        for (index, text) in Self.texts.enumerated() {
            let other = Self.texts[(index + 1) % Self.texts.count]
            #expect(names.contains(ObjectKey(try Self.value(text))), "\(text)")
            #expect(names.contains(ObjectKey([try Self.value(text), try Self.value(other)])))
        }
        let change = try #require(told.changes.first { $0.object.path == "item/%80" })
        #expect(change.oldValues?["a"] == (try Self.value("80")))
        let gone = try #require(told.changes.first { $0.object.path == "item/a%00b" })
        #expect(gone.tombstone?["a"] == (try Self.value("610062")))
        let first = try store.firstToken(matching: HistoryQuery())
        let past = try store.object(ObjectName(path: "item/%81"), asOf: try #require(first))
        #expect(!past.isPresent)
        #expect(try store.revert(told.number).isComplete)
        #expect(try state() == before)
        let reverted = try #require(try store.history().last)
        #expect(try store.revert(reverted.number).isComplete)
        #expect(try state() == after)
    }

    /// The fingerprints keep such keys apart.
    @Test func changesWithoutTriggersAreFound() throws {
        let store = try database.store()
        defer { try? store.close() }
        while try store.digest() {}
        try database.withoutTriggers {
            try database.sql("UPDATE item SET b = \(Self.sql("fe")) WHERE id = \(Self.sql("80"))")
            try database.sql("DELETE FROM item WHERE id = \(Self.sql("6100"))")
        }
        #expect(try Store.mend(database.path, comparing: true).recoveredCount == 2)
        #expect(try store.history().last?.changes.map(\.object.path) == ["item/%80", "item/a%00"])
        #expect(try Store.mend(database.path, comparing: true).recoveredCount == 0)
    }
}

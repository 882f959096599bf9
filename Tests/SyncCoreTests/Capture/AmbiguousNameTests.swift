import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Names that are two for SQLite and one for Swift: canonically equivalent texts.
@Suite struct AmbiguousNameTests {
    private static let composed = "\u{e9}"
    private static let decomposed = "e\u{301}"
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE \"\u{e9}\"(id INTEGER PRIMARY KEY, \"\u{e9}\" TEXT)")
    }

    /// Runs `body`, which has to say which names are meant, and how they differ.
    private func expectRefusal(_ kind: String, _ body: () throws -> Void) {
        let error = #expect(throws: SyncError.self) { try body() }
        #expect(error?.code == .cannotTrack)
        let reason = error?.reason ?? ""
        #expect(reason.contains(kind) && reason.contains("U+00E9") && reason.contains("U+0301"))
    }

    private var second: [(kind: String, make: String, rename: String)] {
        [
            (
                "two tables", "CREATE TABLE \"e\u{301}\"(id INTEGER PRIMARY KEY, v)",
                "ALTER TABLE \"e\u{301}\" RENAME TO other"
            ),
            (
                "two columns", "ALTER TABLE \"\u{e9}\" ADD COLUMN \"e\u{301}\"",
                "ALTER TABLE \"\u{e9}\" RENAME COLUMN \"e\u{301}\" TO other"
            ),
            (
                "two tables", "CREATE VIEW \"e\u{301}\" AS SELECT 1",
                "DROP VIEW \"e\u{301}\""
            ),
        ]
    }

    @Test(arguments: [0, 1, 2]) func trackNamesThePair(place: Int) throws {
        let (kind, make, rename) = second[place]
        try database.sql(make)
        let path = database.path
        for choice in [
            CaptureChoice(), CaptureChoice(undo: ["*"]), CaptureChoice(keepsValues: false),
        ] {
            expectRefusal(kind) { _ = try Store.track(path, choosing: choice) { _ in } }
        }
        #expect(try database.rows("SELECT 1 FROM sqlite_schema WHERE name LIKE 'syncd%'").isEmpty)
        try database.sql(rename)
        try Store.track(path, options: ["*": CaptureOptions(undo: true)].filter { $0.key != "*" })
        #expect(try Tracker(path: path).verify().isEmpty)
    }

    /// A store that gets the second name later records nothing wrong, and goes on afterwards.
    @Test(arguments: [0, 1, 2]) func aTrackedStoreNamesThePair(place: Int) throws {
        let (kind, make, rename) = second[place]
        let store = try database.store(["\u{e9}": CaptureOptions(undo: true)])
        defer { try? store.close() }
        try database.sql("INSERT INTO \"\u{e9}\"(id, \"\u{e9}\") VALUES (1, 'first')")
        try database.sql(make)
        expectRefusal(kind) { _ = try store.verifyCapture() }
        expectRefusal(kind) { _ = try store.repairCapture() }
        expectRefusal(kind) { _ = try Store.mend(database.path) }
        expectRefusal(kind) { _ = try Store.track(database.path) }
        try database.sql("UPDATE \"\u{e9}\" SET \"\u{e9}\" = 'second'")
        if place == 0 { try database.sql("INSERT INTO \"e\u{301}\" VALUES (1, 'of the other')") }
        try database.sql(rename)
        try store.repairCapture()
        #expect(try store.verifyCapture().isEmpty)
        let changes = try store.history().flatMap(\.changes)
        #expect(changes.filter { $0.object.entity == "\u{e9}" }.map(\.kind) == [.insert, .update])
        #expect(changes.compactMap { $0.oldValues?["\u{e9}"] } == ["first"])
    }

    @Test func untrackingNeedsNoNames() throws {
        try database.store().close()
        try database.sql(second[0].make)
        try Store.untrack(database.path)
        #expect(try database.rows("SELECT 1 FROM sqlite_schema WHERE name LIKE 'syncd%'").isEmpty)
    }

    /// The other spelling of a name is another name in SQL, as its other case is not.
    @Test func anotherSpellingIsARename() throws {
        let store = try database.store(["\u{e9}": CaptureOptions(undo: true)])
        defer { try? store.close() }
        try database.sql("INSERT INTO \"\u{e9}\" VALUES (1, 'first')")
        try database.sql(
            """
            ALTER TABLE "\u{e9}" RENAME COLUMN "\u{e9}" TO "e\u{301}";
            ALTER TABLE "\u{e9}" RENAME TO "e\u{301}"
            """)
        let report = try store.repairCapture()
        #expect(report.findings.count == 1 && report.recoveredCount == 0)
        #expect(try store.verifyCapture().isEmpty)
        try database.sql("UPDATE \"e\u{301}\" SET \"e\u{301}\" = 'second'")
        let last = try #require(try store.history().last)
        #expect(last.changes.first?.oldValues?["e\u{301}"] == "first")
        #expect(try store.revert(last.number).isComplete)
        #expect(try database.rows("SELECT \"e\u{301}\" FROM \"e\u{301}\"") == [["first"]])
        let names = try database.rows(
            "SELECT hex(name) FROM syncd_entity WHERE retired = 0 ORDER BY id")
        #expect(names == [["65CC81"]])
    }
}

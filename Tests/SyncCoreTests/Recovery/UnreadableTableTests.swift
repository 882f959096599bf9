import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// A table whose key has a collation that its application defines: SQLite reads no row of it in
/// another process. Its triggers record; all other tables are as without it.
@Suite(.timeLimit(.minutes(15))) struct UnreadableTableTests {
    private let database: TestDatabase
    private let writer: PlainConnection
    private let reason = "no such collation sequence: unicase"

    init() throws {
        database = try TestDatabase("CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)")
        writer = try PlainConnection(database.path)
        writer.defineCollation("unicase")
        try writer.run(
            """
            CREATE TABLE tag(name TEXT PRIMARY KEY COLLATE unicase, usn INTEGER) WITHOUT ROWID;
            INSERT INTO tag VALUES ('Leech', 1), ('marked', 2);
            INSERT INTO note VALUES (1, 'one'), (2, 'two')
            """)
    }

    private func rebuild(_ table: String, _ columns: String, from values: String = "*") throws {
        try writer.run(
            """
            BEGIN; CREATE TABLE made(\(columns)); INSERT INTO made SELECT \(values) FROM \(table);
            DROP TABLE \(table); ALTER TABLE made RENAME TO \(table); COMMIT
            """)
    }

    private func rebuildTag() throws {
        try rebuild("tag", "name TEXT PRIMARY KEY COLLATE unicase, usn INTEGER")
        try writer.run("INSERT INTO tag VALUES ('while without', 3)")
    }

    @Test func trackNamesIt() throws {
        let report = try Store.track(database.path)
        #expect(report.tracked == ["note", "tag"])
        #expect(report.unreadable == ["tag": reason])
        let store = try Store.open(database.path)
        #expect(try store.verifyCapture().isEmpty)
        let findings = try store.unreadableTables()
        #expect(findings.map(\.table) == ["tag"])
        #expect(findings.map(\.problem) == [.unreadable(reason)])
    }

    @Test func itsChangesAreRecordedAndTheDigestGoesOn() throws {
        let store = try database.store()
        #expect(try store.digest() == false)
        #expect(try store.unreadableTables(thoroughly: false).map(\.table) == ["tag"])
        for round in 1...3 {
            try writer.run(
                """
                INSERT INTO tag VALUES ('new\(round)', 1);
                UPDATE note SET text = 'round \(round)' WHERE id = 1
                """)
            #expect(try store.digest() == false)
        }
        let objects = try store.history().flatMap(\.changes).map(\.object.path)
        #expect(Set(objects) == ["tag/new1", "tag/new2", "tag/new3", "note/1"])
        // The other table is compared as ever.
        let plain = try PlainConnection(database.path)
        try plain.withoutTriggers { try plain.run("UPDATE note SET text = 'unseen' WHERE id = 2") }
        let report = try store.repairCapture(comparing: true)
        #expect(report.recoveredCount == 1)
        #expect(report.unreadable == ["tag": reason] && report.uncompared.isEmpty)
    }

    @Test(arguments: [true, false])
    func itsRebuildKeepsNoTableFromItsTriggers(atOnce: Bool) throws {
        let store = try database.store()
        #expect(try store.digest() == false)
        try rebuildTag()
        if !atOnce { _ = try store.repairCapture() }
        try rebuild("note", "id INTEGER PRIMARY KEY, text TEXT, more", from: "*, NULL")
        try writer.run("INSERT INTO note VALUES (3, 'three', NULL)")
        let report = try store.repairCapture()
        #expect(report.unreadable == (atOnce ? ["tag": reason] : [:]))
        #expect(try store.verifyCapture().isEmpty, "all triggers are there")
        let recovered = try store.poll().transactions.map(\.summary)
        #expect(recovered.contains { $0.contains("insert note/3") }, "\(recovered)")
        #expect(try store.digest() == false)
        try writer.run(
            "INSERT INTO tag VALUES ('later', 9); UPDATE note SET text = 'x' WHERE id = 3")
        let told = try store.poll().transactions.flatMap(\.changes).map(\.object.path)
        #expect(told == ["tag/later", "note/3"])
        #expect(try store.digest() == false)
        #expect(try store.unreadableTables(thoroughly: false).map(\.table) == ["tag"])
    }

    /// With a key that SQLite can compare it is a table like any other.
    @Test func aRebuildWithAnotherCollationEndsIt() throws {
        let store = try database.store()
        #expect(try store.digest() == false)
        try rebuild("tag", "name TEXT PRIMARY KEY COLLATE NOCASE, usn INTEGER")
        _ = try store.repairCapture()
        #expect(try store.digest() == false)
        #expect(try store.unreadableTables().isEmpty)
        #expect(try store.unreadableTables(thoroughly: false).isEmpty)
        let plain = try PlainConnection(database.path)
        try plain.withoutTriggers { try plain.run("DELETE FROM tag WHERE name = 'leech'") }
        #expect(try store.repairCapture(comparing: true).recoveredCount == 1)
    }
}

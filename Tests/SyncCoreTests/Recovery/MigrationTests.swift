import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Schema changes of other programs while the triggers are out of their way.
@Suite(.timeLimit(.minutes(5))) struct MigrationTests {
    private let database: TestDatabase

    init() throws {
        database = try TestDatabase(
            "CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER, extra TEXT)",
            "INSERT INTO artist VALUES (1, 'a'), (2, 'b')",
            "INSERT INTO album VALUES (10, 'ten', 1980, 'e'), (20, 'twenty', 1990, 'f')")
        try Store.track(database.path)
    }

    /// A process that works on a migration until it is ended.
    ///
    /// Not of Foundation: its `waitUntilExit()` waits for every process, too, that another test
    /// started in the same moment, because that one inherits its socket.
    private struct Worker {
        let processIdentifier: pid_t

        init() throws {
            var pid: pid_t = 0
            let words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/sleep"), strdup("300"), nil]
            defer { for word in words { free(word) } }
            try #require(posix_spawn(&pid, "/bin/sleep", nil, nil, words, nil) == 0)
            processIdentifier = pid
        }

        func end() {
            kill(processIdentifier, SIGKILL)
            waitpid(processIdentifier, nil, 0)
        }
    }

    private func last() throws -> Transaction {
        let store = try Store.open(database.path)
        defer { try? store.close() }
        return try #require(try store.history().last)
    }

    @Test func whatIsChangedIsOneTransactionOfTheCommand() throws {
        try database.sql("UPDATE artist SET name = 'before' WHERE id = 1")
        try Store.beginMigration(database.path, of: "up", by: [getpid()])
        try database.sql(
            """
            ALTER TABLE album DROP COLUMN extra; ALTER TABLE album ADD COLUMN rating DEFAULT 3;
            UPDATE artist SET name = 'changed' WHERE id = 2; INSERT INTO artist VALUES (3, 'c');
            DELETE FROM album WHERE id = 10; CREATE TABLE label(id INTEGER PRIMARY KEY);
            INSERT INTO label VALUES (7)
            """)
        let report = try Store.endMigration(database.path, of: "up")
        let transaction = try last()
        #expect(report.transaction == transaction.token)
        #expect(transaction.author == "synctool" && transaction.context == "migrate: up")
        #expect(transaction.flags == .recovered)
        let changes = Set(transaction.summary.split(separator: ", ").map(String.init))
        #expect(
            changes == [
                "update artist/2 name", "insert artist/3", "delete album/10", "insert label/7",
            ])
        #expect(report.repair.partlyCompared == ["album"])
        try database.sql("UPDATE album SET rating = 5")
        #expect(try last().summary == "update album/20 rating")
        let store = try Store.open(database.path)
        #expect(try store.verifyCapture().isEmpty)
        #expect(
            try database.rows("SELECT 1 FROM syncd_meta WHERE key = 'migration' AND value NOTNULL")
                .isEmpty)
    }

    @Test func renamedTablesAndColumnsAreFollowed() throws {
        try Store.beginMigration(database.path, of: "up", by: [getpid()])
        try database.sql(
            """
            ALTER TABLE album RENAME COLUMN title TO "the ""name"; ALTER TABLE album RENAME TO disc;
            ALTER TABLE disc RENAME COLUMN year TO jahr; UPDATE disc SET jahr = 1 WHERE id = 20
            """)
        _ = try Store.endMigration(database.path, of: "up")
        let transaction = try last()
        #expect(transaction.changes.map(\.object.path) == ["disc/20"])
        #expect(transaction.changes.map(\.kind) == [.update])
        try database.sql("UPDATE disc SET \"the \"\"name\" = 'n' WHERE id = 10")
        #expect(try last().changes.map(\.properties) == [["the \"name"]])
    }

    @Test func aRunningMigrationIsLeftAlone() throws {
        let worker = try Worker()
        defer { worker.end() }
        let store = try Store.open(database.path)
        try Store.beginMigration(database.path, of: "up", by: [worker.processIdentifier])
        try database.sql("UPDATE artist SET name = 'x'")
        #expect(try store.verifyCapture().map(\.isOfMigration) == [true])
        #expect(throws: SyncError(.busy, "")) { try store.repairCapture() }
        #expect(throws: SyncError(.busy, "")) { try Store.mend(database.path, comparing: true) }
        #expect(throws: SyncError(.busy, "")) {
            try Store.beginMigration(database.path, of: "other", by: [getpid()])
        }
        #expect(throws: SyncError(.busy, "")) {
            try Store.alter(database.path, running: "ALTER TABLE artist ADD COLUMN x")
        }
        try Store.open(database.path).close()
        try database.sql("ALTER TABLE album DROP COLUMN extra")
        #expect(try store.history().isEmpty)
    }

    @Test func oneThatWasKilledIsEndedByTheNextThatOpensTheStore() throws {
        let worker = try Worker()
        try Store.beginMigration(database.path, of: "up", by: [worker.processIdentifier])
        try database.sql("ALTER TABLE album DROP COLUMN extra; UPDATE artist SET name = 'x'")
        worker.end()
        let transaction = try last()
        #expect(transaction.context == "migrate: up")
        #expect(transaction.summary == "update artist/1 name, update artist/2 name")
        let store = try Store.open(database.path)
        #expect(try store.verifyCapture().isEmpty)
    }

    @Test func aProcessIsNotTakenForALaterOneOfTheSameNumber() throws {
        let own = try #require(ProcessIdentity(pid: getpid()))
        #expect(own.isAlive && own.isCurrent)
        let worker = try Worker()
        let other = try #require(ProcessIdentity(pid: worker.processIdentifier))
        #expect(other.isAlive && !other.isCurrent && other != own)
        worker.end()
        #expect(!other.isAlive)
        #expect(ProcessIdentity(pid: worker.processIdentifier) == nil)
    }
}

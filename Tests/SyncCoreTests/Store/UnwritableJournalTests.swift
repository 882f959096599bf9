import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// What a daemon cannot record, it tells only when it is in the history tables.
@Suite struct UnwritableJournalTests {
    private func database(wal: Bool) throws -> TestDatabase {
        let database = try TestDatabase(wal: wal, "CREATE TABLE item(id INTEGER PRIMARY KEY, n)")
        try Store.track(database.path)
        return database
    }

    /// As a daemon does, with every commit.
    private func told(_ store: Store, after sql: [String], in database: TestDatabase) throws
        -> [Transaction]
    {
        try sql.flatMap {
            try database.sql($0)
            return try store.poll().transactions
        }
    }

    private static let inserts = (1...3).map { "INSERT INTO item VALUES (\($0), 'x')" }

    /// The file cannot be created. Other readers find what was told.
    @Test(arguments: [true, false])
    func withoutAFileNumbersStay(wal: Bool) throws {
        let database = try database(wal: wal)
        let daemon = try Store.open(database.path)
        let name = BoundaryJournal.name(replica: daemon.replica, epoch: daemon.epoch)
        try #require(mkdir(database.folder.file(name), 0o755) == 0)
        let journal = BoundaryJournal(directory: database.folder.path, of: daemon)
        try daemon.record(in: journal)
        let told = try told(daemon, after: Self.inserts, in: database)
        #expect(told.map(\.summary) == ["insert item/1", "insert item/2", "insert item/3"])
        #expect(journal.fault?.contains("Is a directory") == true)
        let other = try Store.open(database.path)
        #expect(try other.history() == told)
        try other.close()
        try daemon.close()
    }

    /// Somebody empties the folder of a daemon that runs.
    @Test(arguments: [true, false])
    func afterItsFolderWasEmptiedNumbersStay(wal: Bool) throws {
        let database = try database(wal: wal)
        let daemon = try Store.open(database.path)
        let journal = BoundaryJournal(directory: database.folder.path, of: daemon)
        try daemon.record(in: journal)
        var told = try told(daemon, after: [Self.inserts[0]], in: database)
        try #require(unlink(journal.path) == 0)
        told += try self.told(daemon, after: Array(Self.inserts.dropFirst()), in: database)
        #expect(told.map(\.summary) == ["insert item/1", "insert item/2", "insert item/3"])
        let other = try Store.open(database.path)
        #expect(try other.history() == told)
        try other.close()
        try daemon.close()
    }

    /// An older copy is put in the place of the file, nobody has it open, and as many rows are
    /// written as were lost: their commit is one, and of another epoch.
    @Test(arguments: [true, false], [true, false])
    func aCopyThatHasGrownIsNotReadByTheJournalOfTheFormer(wal: Bool, isDigested: Bool) throws {
        let database = try database(wal: wal)
        let daemon = try Store.open(database.path)
        try daemon.record(in: BoundaryJournal(directory: database.folder.path, of: daemon))
        var told = try told(daemon, after: [Self.inserts[0]], in: database)
        _ = try daemon.digest()
        let copy = database.folder.file("copy.db")
        try database.sql("VACUUM INTO '\(copy)'")
        told += try self.told(daemon, after: Array(Self.inserts.dropFirst()), in: database)
        if isDigested { _ = try daemon.digest() }
        try daemon.close()
        try database.replace(with: copy)
        try database.sql("INSERT INTO item VALUES (4, 'y'), (5, 'y'), (6, 'y')")
        let other = try Store.open(database.path)
        let history = try other.history()
        #expect(history.map(\.changes.count) == [1, 3])
        #expect(other.epoch == told[0].token.epoch + 1)
        var query = HistoryQuery()
        query.after = told[2].token
        #expect(throws: SyncError(.foreignHistory, "")) { try other.history(query) }
        try other.close()
    }

    /// The journal is used again when there is space: by the file, not by its former descriptor.
    @Test func whenThereIsSpaceAgainItIsUsed() throws {
        let database = try database(wal: false)
        let daemon = try Store.open(database.path)
        let name = BoundaryJournal.name(replica: daemon.replica, epoch: daemon.epoch)
        let path = database.folder.file(name)
        try #require(mkdir(path, 0o755) == 0)
        let journal = BoundaryJournal(directory: database.folder.path, of: daemon)
        try daemon.record(in: journal)
        var told = try told(daemon, after: [Self.inserts[0]], in: database)
        try #require(rmdir(path) == 0)
        // It is tried again after a second.
        for _ in 0..<300 where journal.fault != nil {
            usleep(10_000)
            _ = try daemon.poll()
        }
        #expect(journal.fault == nil)
        told += try self.told(daemon, after: Array(Self.inserts.dropFirst()), in: database)
        #expect(told.count == 3)
        #expect(journal.boundaries.suffix(2).map(\.last) == told.suffix(2).map(\.number))
        let other = try Store.open(database.path)
        #expect(try other.history() == told)
        try other.close()
        try daemon.close()
    }
}

import CSQLite
import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// A store that is not in use closes its connections, and goes on where it was.
@Suite struct RestingTests {
    private let database: TestDatabase

    init() throws { database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, n)") }

    private var isWalThere: Bool { FileManager.default.fileExists(atPath: database.path + "-wal") }

    private func insert(_ ids: Range<Int>) throws {
        for id in ids { try database.sql("INSERT INTO item VALUES (\(id), 0)") }
    }

    private func opened() throws -> Store {
        let store = try database.store()
        try store.record(in: BoundaryJournal(directory: database.folder.path, of: store))
        return store
    }

    /// Digests, then rests.
    private func rest(_ store: Store) throws -> Bool {
        while try store.digest() {}
        return try store.emptyWal() && store.rest(idleFor: .zero)
    }

    @Test func commitsOfTheRestAreToldOneByOne() throws {
        let store = try opened()
        try insert(0..<2)
        #expect(try store.poll().transactions.count == 2)
        #expect(try rest(store))
        #expect(store.isResting)
        try insert(2..<5)
        let told = try store.poll().transactions
        #expect(told.map(\.summary) == ["insert item/2", "insert item/3", "insert item/4"])
        #expect(told.allSatisfy { $0.flags.isEmpty })
        #expect(!store.isResting)
        #expect(try store.history().suffix(3) == told)
        #expect(try store.poll().transactions.isEmpty)
    }

    @Test func commitsThatWereNotToldBeforeTheRestAreToldAfterIt() throws {
        let store = try opened()
        try insert(0..<3)
        #expect(try rest(store))
        try insert(3..<4)
        #expect(try store.poll().transactions.count == 4)
    }

    /// What another reader digested meanwhile is told, too.
    @Test func commitsThatOthersDigestedAreTold() throws {
        let store = try opened()
        #expect(try rest(store))
        try insert(0..<3)
        let direct = try Store.open(database.path)
        let found = try direct.history()
        try direct.close()
        #expect(found.count == 3)
        #expect(try store.poll().transactions == found)
    }

    @Test func theJournalModeCanBeChanged() throws {
        let store = try opened()
        try insert(0..<1)
        #expect(throws: SyncError.self) { try database.sql("PRAGMA journal_mode = DELETE") }
        #expect(try rest(store))
        #expect(try database.rows("PRAGMA journal_mode = DELETE") == [["delete"]])
        try insert(1..<2)
        #expect(try store.poll().transactions.map(\.summary) == ["insert item/0", "insert item/1"])
        #expect(try store.walIndex() == nil)
        // An open connection holds no lock there.
        #expect(try !rest(store))
        #expect(try database.rows("PRAGMA journal_mode = WAL") == [["wal"]])
    }

    @Test func noWalIsLeft() throws {
        let store = try opened()
        try insert(0..<1)
        database.close()
        #expect(isWalThere)
        #expect(try rest(store))
        #expect(!isWalThere)
    }

    @Test func whatIsNotSettledKeepsTheConnection() throws {
        let store = try opened()
        #expect(try !store.rest(idleFor: .seconds(60)))
        try insert(0..<1)
        #expect(try !store.rest(idleFor: .zero))
        #expect(!store.isResting)
        let reader = try PlainConnection(database.path)
        try reader.run("BEGIN; SELECT * FROM item")
        while try store.digest() {}
        #expect(try !store.emptyWal())
        #expect(try !store.rest(idleFor: .zero))
        reader.close()
        #expect(try rest(store))
        #expect(try store.digest() == false)
        #expect(store.isResting)
        try store.close()
        #expect(throws: SyncError.self) { try store.poll() }
    }

    @Test func anOlderCopyIsNoticedAfterTheRest() throws {
        let store = try opened()
        let copy = database.folder.file("copy.db")
        #expect(try rest(store))
        try FileManager.default.copyItem(atPath: database.path, toPath: copy)
        try insert(0..<2)
        #expect(try store.poll().transactions.count == 2)
        #expect(try rest(store))
        let (old, new) = (try PlainConnection(copy), try PlainConnection(database.path))
        let backup = sqlite3_backup_init(new.handle, "main", old.handle, "main")
        #expect(sqlite3_backup_step(backup, -1) == SQLITE_DONE)
        #expect(sqlite3_backup_finish(backup) == SQLITE_OK)
        let error = #expect(throws: SyncError.self) { try store.poll() }
        #expect(error?.code == .foreignHistory)
    }

    @Test func anotherFileAtThePathIsNotRead() throws {
        let store = try opened()
        try database.reopen()
        #expect(try rest(store))
        try FileManager.default.moveItem(
            atPath: database.path, toPath: database.folder.file("moved.db"))
        try PlainConnection(database.path).run("CREATE TABLE other(x)")
        let error = #expect(throws: SyncError.self) { try store.poll() }
        #expect(error?.code == .storeReplaced)
        #expect(try store.emptyWal())
        #expect(try store.closeMoved())
    }
}

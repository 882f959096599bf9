import SyncTesting
import Testing

@testable import SyncCore

@Suite struct WalTailTests {
    private let folder: TemporaryFolder
    private let path: String
    private let writer: PlainConnection
    private let store: WatchedStore

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path + "/a.db"
        writer = try PlainConnection(path)
        try writer.run(
            "PRAGMA journal_mode=WAL; PRAGMA cache_size=4; PRAGMA wal_autocheckpoint=0")
        try writer.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
        store = WatchedStore(
            StoreWatcher.WatchID(number: 0), path: path, index: try WalIndex(writer.handle)
        ) { _ in }
        _ = store.takeNews()
    }

    private static let manyRows = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t(a) SELECT randomblob(500) FROM n
        """

    @Test func afterACommitNothingIsExpected() throws {
        #expect(!store.mayExpectCommit())
        try writer.run("INSERT INTO t(a) VALUES (1)")
        #expect(store.mayExpectCommit(), "published, and not counted yet")
        #expect(store.takeNews() == 1)
        #expect(!store.mayExpectCommit())
    }

    @Test func framesOfAnOpenTransactionAreACommitToCome() throws {
        try writer.run("BEGIN")
        try writer.run(Self.manyRows)
        #expect(store.takeNews() == 0)
        #expect(store.mayExpectCommit(), "the cache is small: frames were written")
        try writer.run("COMMIT")
        #expect(store.takeNews() == 1)
        #expect(!store.mayExpectCommit())
    }

    @Test func whatARollbackLeftIsACommitToComeUntilTheNextOne() throws {
        try writer.run("BEGIN")
        try writer.run(Self.manyRows)
        try writer.run("ROLLBACK")
        #expect(store.takeNews() == 0)
        #expect(store.mayExpectCommit())
        try writer.run(Self.manyRows)
        #expect(store.takeNews() == 1)
        #expect(!store.mayExpectCommit())
    }

    @Test func framesOfAnEarlierGenerationAreNotExpected() throws {
        try writer.run(Self.manyRows)
        try writer.run("PRAGMA wal_checkpoint(RESTART)")
        try writer.run("INSERT INTO t(a) VALUES (1)")
        _ = store.takeNews()
        #expect(!store.mayExpectCommit(), "behind the first frames lie those of before the reset")
    }

    @Test func aWalThatWasMadeAnewIsReadAfterTheOldOneWasForgotten() throws {
        _ = store.mayExpectCommit()
        try writer.run("PRAGMA journal_mode=DELETE; PRAGMA journal_mode=WAL")
        try writer.run("INSERT INTO t(a) VALUES (1)")
        store.forgetWal()
        store.index = try WalIndex(writer.handle)
        store.mark = nil
        _ = store.takeNews()
        #expect(!store.mayExpectCommit())
    }
}

import Foundation
import SyncMerge
import SyncStorage
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// A transaction of any size takes as much memory as its cache, in each journal mode.
@Suite("Cache of a merge")
struct MergeCacheTests {
    /// Rows of 1,000 bytes: more than the cache of a merge holds.
    private func writeMany(_ connection: OpaquePointer) throws {
        for _ in 0..<50 {
            try RawTransaction.execute(
                """
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                INSERT INTO aside SELECT zeroblob(1000) FROM n
                """, on: connection)
        }
    }

    private func store(_ path: String, isLogging: Bool) throws -> StoreReplica {
        let connection = try PlainConnection(path, wal: isLogging)
        defer { connection.close() }
        try connection.run("CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE TABLE aside(x)")
        try Store.track(path, entities: .only(["t"]))
        return try StoreReplica(path)
    }

    private func size(of path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    /// The records of all rows are written for the new column, more than the cache holds.
    @Test("a column is added to a large table without a WAL, and nobody waits for oneself")
    func newColumn() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let replica = try store(path, isLogging: false)
        let writer = try PlainConnection(path)
        try writer.run(
            """
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
            INSERT INTO t SELECT i, randomblob(10000) FROM n
            """)
        _ = try replica.vector
        try writer.run("ALTER TABLE t ADD COLUMN y")
        let start = ContinuousClock.now
        _ = try replica.vector
        #expect(ContinuousClock.now - start < .seconds(25), "the wait for a lock ends after 30 s")
        try writer.run("UPDATE t SET y = 1 WHERE id = 1")
        let batches = try replica.batches(since: VersionVector())
        let clone = try StoreReplica.clone(at: folder.file("b.db"), from: batches)
        #expect(try clone.vector == replica.vector)
    }

    @Test(
        "changed pages leave the memory before the commit, and the transaction goes on",
        arguments: [true, false])
    func pagesLeaveTheMemory(isLogging: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let replica = try store(path, isLogging: isLogging)
        try replica.run("test") { session in
            try session.transact { transaction in
                try writeMany(session.connection)
                #expect(try size(of: isLogging ? path + "-wal" : path) > 10_000_000)
                // As after changes that no trigger saw, or with new policies.
                try transaction.finish()
                _ = try session.begin(on: transaction.storage)
            }
        }
        let reader = try PlainConnection(path)
        defer { reader.close() }
        #expect(try reader.integer("SELECT count(*) FROM aside") == 50_000)
        try reader.run("INSERT INTO t(x) VALUES (1)")
        #expect(try replica.batches(since: VersionVector()).count == 1)
        try replica.close()
    }

    @Test("who reads meanwhile is waited for at the commit alone, and nothing is lost")
    func readersAreWaitedForOnce() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let replica = try store(path, isLogging: false)
        let reader = try PlainConnection(path)
        defer { reader.close() }
        try reader.run("BEGIN; SELECT count(*) FROM t")
        let start = ContinuousClock.now
        let error = #expect(throws: SyncError.self) {
            try replica.run("test") { session in
                try session.transact { _ in try writeMany(session.connection) }
            }
        }
        #expect(error?.code == .busy)
        // To wait with each statement whose pages do not fit takes minutes.
        #expect(ContinuousClock.now - start < .seconds(60))
        try reader.run("COMMIT")
        try replica.run("test") { session in
            try session.transact { _ in try writeMany(session.connection) }
        }
        #expect(try reader.integer("SELECT count(*) FROM aside") == 50_000)
        try replica.close()
    }
}

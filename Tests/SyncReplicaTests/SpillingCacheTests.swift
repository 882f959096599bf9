import Foundation
import SyncTesting
import Testing

@testable import SyncReplica
@testable import SyncValues

/// A transaction of any size takes as much memory as its cache.
@Suite("Spilling cache")
struct SpillingCacheTests {
    @Test("changed pages go to the WAL before the commit, and to no rollback journal's database")
    func pagesLeaveTheMemory() throws {
        let folder = try TemporaryFolder()
        for hasWal in [true, false] {
            let path = folder.file("\(hasWal).db")
            let connection = try PlainConnection(path, wal: hasWal)
            defer { connection.close() }
            try connection.run("CREATE TABLE t(x); PRAGMA cache_spill = OFF")
            let before = try size(of: path)
            let cache = try SpillingCache(connection.handle)
            try connection.run("BEGIN IMMEDIATE")
            try cache.requireSameMode()
            try connection.run(
                """
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
                INSERT INTO t SELECT zeroblob(1000) FROM n
                """)
            let written = try hasWal ? size(of: path + "-wal") : size(of: path) - before
            if hasWal { #expect(written > 10_000_000) } else { #expect(written == 0) }
            try connection.run("COMMIT")
            cache.end()
            #expect(try connection.integer("SELECT count(*) FROM t") == 50_000)
            #expect(try connection.integer("PRAGMA cache_spill") == 0)
        }
    }

    @Test("a database that lost its WAL meanwhile is left alone")
    func changedMode() throws {
        let folder = try TemporaryFolder()
        let connection = try PlainConnection(folder.file("a.db"), wal: true)
        defer { connection.close() }
        try connection.run("CREATE TABLE t(x)")
        let cache = try SpillingCache(connection.handle)
        try connection.run("PRAGMA journal_mode = DELETE")
        #expect(throws: SyncError.self) { try cache.requireSameMode() }
        cache.end()
    }

    private func size(of path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
}

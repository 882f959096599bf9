import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica

/// Pages of each size, in each journal mode: a transaction that is larger than the page cache must
/// not keep out this process's own connections.
@Suite("Merging: page sizes and journal modes")
struct FileFormatTests {
    @Test(
        "a store is stated, sent and merged", arguments: [512, 4096, 65536],
        ["DELETE", "PERSIST", "WAL"])
    func format(pageSize: Int, journalMode: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let writer = try PlainConnection(path)
        try writer.run("PRAGMA page_size = \(pageSize)")
        _ = try writer.rows("PRAGMA journal_mode = \(journalMode)")
        try writer.run(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t SELECT i, hex(randomblob(40)) FROM n
            """)
        writer.close()
        try Store.track(path)
        let a = try TestStore(path, StoreReplica(path))
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("UPDATE t SET v = v || 'x'")
        try TestStore.sync(a, b)
        let sum = "SELECT count(*), group_concat(v) FROM (SELECT v FROM t ORDER BY v)"
        #expect(try a.rows(sum) == b.rows(sum))
        #expect(try b.rows("SELECT count(*) FROM t WHERE v LIKE '%x'") == [[2000]])
    }
}

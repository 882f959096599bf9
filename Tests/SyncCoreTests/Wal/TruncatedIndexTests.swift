import CLinux
import Foundation
import GRDB
import Glibc
import SyncStorage
import SyncTesting
import Testing

@testable import SyncCore

/// A `-shm` that its owner truncates is no end of the process that has it mapped.
@Suite(.serialized) struct TruncatedIndexTests {
    init() { DatabaseOpener.surviveTruncation() }

    @Test func aTruncatedWalIndexShowsNothing() throws {
        let directory = try TemporaryFolder()
        let path = directory.file("a.db")
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(x)")
        }
        let index = try queue.inDatabase { database in
            try database.sqliteConnection.flatMap { try WalIndex($0) }
        }
        let opened = try #require(index)
        #expect(opened.header() != nil)
        #expect(!opened.isTruncated)
        let before = DatabaseOpener.truncatedPages
        #expect(truncate(path + "-shm", 0) == 0)
        #expect(opened.header() == nil)
        #expect(opened.isTruncated)
        #expect(DatabaseOpener.truncatedPages == before + 1)
        // SQLite's own mapping of the same file: it finds no header, and recovers it from the WAL.
        let count = try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
        #expect(count == 0)
        #expect(DatabaseOpener.truncatedPages > before + 1)
    }

    /// Page by page, and no longer than it is guarded.
    @Test func aGuardedPageIsReplaced() throws {
        let directory = try TemporaryFolder()
        let path = directory.file("file")
        try Data(repeating: 1, count: 8192).write(to: URL(fileURLWithPath: path))
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        let memory = try #require(
            mmap(nil, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0))
        defer { munmap(memory, 8192) }
        let before = DatabaseOpener.truncatedPages
        ftruncate(descriptor, 0)
        syncd_guard_mapping(memory + 4096, 4096)
        #expect(syncd_load_u32(memory + 4096) == 0)
        #expect(DatabaseOpener.truncatedPages == before + 1)
        syncd_forget_mapping(memory + 4096)
    }
}

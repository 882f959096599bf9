import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncValues

/// A file is moved over one that this process has open, with commits in its WAL.
@Suite struct MovedFileTests {
    private let folder: TemporaryFolder
    private let path: String
    /// Of the file that was at the path before.
    private let former: Store

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("test.db")
        let writer = try PlainConnection(path)
        try writer.run("PRAGMA journal_mode = WAL; CREATE TABLE note(id INTEGER PRIMARY KEY, text)")
        try Store.track(path)
        former = try Store.open(path)
        try writer.run("INSERT INTO note VALUES (1, 'x')")
        try writer.run("VACUUM INTO '\(path).other'")
        try writer.run("CREATE TABLE big(x); INSERT INTO big VALUES (hex(randomblob(50000)))")
        try writer.run("DROP TABLE big")
        writer.close()
        try #require(rename(path + ".other", path) == 0)
        try #require(walSize() > 0)
    }

    private func walSize() throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: path + "-wal")).count
    }

    /// SQLite would read the WAL of the former file, and write it into this one.
    @Test func nothingOpensTheFileThatHasThePathNow() throws {
        #expect(throws: SyncError(.storeReplaced, "")) { try Store.open(path) }
        #expect(throws: SyncError(.storeReplaced, "")) { try Store.lastComparison(path) }
        #expect(throws: SyncError(.storeReplaced, "")) { try Store.mend(path) }
        try former.close()
    }

    @Test func itIsWholeWhenTheFormerOneIsClosed() throws {
        try former.close()
        #expect(try walSize() == 0)
        #expect(try Store.integrity(path) == [])
        let opened = try Store.open(path)
        #expect(try opened.newestNumber() == 1)
        try opened.close()
    }

    /// The last of several that is closed empties the WAL.
    @Test func itIsWholeWhenSeveralHadTheFormerOneOpen() throws {
        try former.close()
        let first = try Store.open(path)
        let second = try Store.open(path)
        let writer = try PlainConnection(path)
        try writer.run("INSERT INTO note VALUES (2, 'y')")
        try writer.run("VACUUM INTO '\(path).other'")
        try writer.run("INSERT INTO note VALUES (3, 'z')")
        writer.close()
        try #require(rename(path + ".other", path) == 0)
        try first.close()
        #expect(throws: SyncError(.storeReplaced, "")) { try Store.open(path) }
        try second.close()
        #expect(try Store.integrity(path) == [])
        let opened = try Store.open(path)
        #expect(try opened.newestNumber() == 2)
        try opened.close()
    }
}

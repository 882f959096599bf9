import Foundation
import GRDB
import Glibc
import SyncTesting
import SyncValues
import Testing

@testable import SyncStorage

/// The -wal and the -shm are taken away while a connection is being opened, so that it has others
/// open than those that are at the paths when they are first looked at.
@Suite struct SideFilesTests {
    private let directory: TemporaryFolder
    private let path: String

    init() throws {
        directory = try TemporaryFolder()
        path = directory.file("a.db")
        try sqlite3("PRAGMA journal_mode = WAL; CREATE TABLE t(x)")
    }

    enum Removed: String, CaseIterable {
        case wal = "-wal"
        case index = "-shm"
        case both
    }

    /// Another program makes others before this one looks: what it commits stays.
    @Test(arguments: Removed.allCases)
    func theFilesOfOthersAreNotTakenForItsOwn(_ removed: Removed) throws {
        // So that there is a -shm before the other connection is opened.
        let first = try open()
        let queue = try open()
        remove(removed)
        try sqlite3("INSERT INTO t VALUES ('later')")
        let sideFiles = try #require(self.sideFiles(of: queue))
        #expect(sideFiles.areForsaken)
        // A further connection would share the -shm that is gone.
        let refusal = #expect(throws: SyncError.self) { try DatabaseOpener.open(path) }
        #expect(refusal?.code == .storeReplaced)
        try first.queue.close()
        try close(queue.queue, with: sideFiles)
        #expect(try sqlite3("SELECT x FROM t WHERE x = 'later'") == "later\n")
    }

    @Test func oneThatIsMissingIsNoticed() throws {
        let queue = try open()
        remove(.index)
        let sideFiles = try #require(self.sideFiles(of: queue))
        #expect(sideFiles.areForsaken)
        try close(queue.queue, with: sideFiles)
    }

    /// The last one to close a database removes both, the next one makes others.
    @Test func thoseThatItHasMadeAreItsOwn() throws {
        let first = try open()
        let before = SideFiles.Identities(ofDatabase: path)
        try close(first.queue, with: #require(self.sideFiles(of: first)))
        #expect(SideFiles.Identities(ofDatabase: path) != before)
        let second = (queue: try DatabaseOpener.open(path, for: .following), before: before)
        try insert(second.queue)
        let sideFiles = try #require(self.sideFiles(of: second))
        #expect(!sideFiles.areForsaken)
        try close(second.queue, with: sideFiles)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
        #expect(try sqlite3("SELECT count(*) FROM t") == "2\n")
    }

    @Test(arguments: ["DELETE", "TRUNCATE", "PERSIST", "MEMORY"])
    func aRollbackModeHasNone(_ mode: String) throws {
        try sqlite3("PRAGMA journal_mode = DELETE")
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA journal_mode = \(mode); BEGIN IMMEDIATE")
            try database.execute(sql: "INSERT INTO t VALUES (1)")
            let connection = try #require(database.sqliteConnection)
            let before = SideFiles.Identities(ofDatabase: path)
            #expect(SideFiles(openedBy: connection, before: before) == nil)
            try database.execute(sql: "COMMIT")
            #expect(SideFiles(openedBy: connection, before: before) == nil)
        }
        try queue.close()
    }

    // MARK: Steps

    private typealias Opened = (queue: DatabaseQueue, before: SideFiles.Identities)

    private func open() throws -> Opened {
        let before = SideFiles.Identities(ofDatabase: path)
        let queue = try DatabaseOpener.open(path, for: .following)
        try insert(queue)
        return (queue, before)
    }

    private func insert(_ queue: DatabaseQueue) throws {
        try queue.write { try $0.execute(sql: "INSERT INTO t VALUES ('first')") }
        try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    }

    private func sideFiles(of opened: Opened) -> SideFiles? {
        opened.queue.writeWithoutTransaction { database in
            database.sqliteConnection.flatMap { SideFiles(openedBy: $0, before: opened.before) }
        }
    }

    private func close(_ queue: DatabaseQueue, with sideFiles: SideFiles) throws {
        queue.writeWithoutTransaction { $0.sqliteConnection.map(sideFiles.release) }
        try queue.close()
    }

    private func remove(_ removed: Removed) {
        for ending in ["-wal", "-shm"] where removed == .both || removed.rawValue == ending {
            #expect(unlink(path + ending) == 0)
        }
    }

    /// In another process.
    @discardableResult
    private func sqlite3(_ sql: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = [path, sql]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return String(decoding: data, as: UTF8.self)
    }
}

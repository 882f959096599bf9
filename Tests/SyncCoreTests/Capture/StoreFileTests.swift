import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Which files are refused, and why; and that a refusal leaves the file as it was.
@Suite struct StoreFileTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("file.db")
    }

    private func makeDatabase(wal: Bool = false) throws {
        let db = try PlainConnection(path, wal: wal)
        try db.run("CREATE TABLE item(id INTEGER PRIMARY KEY, a); CREATE INDEX i ON item(a)")
    }

    private func code(_ body: () throws -> Void) -> SyncError.Code? {
        do {
            try body()
            return nil
        } catch {
            let error = error as? SyncError
            #expect(error?.path == path && error?.reason.isEmpty == false)
            return error?.code
        }
    }

    private func openCode() -> SyncError.Code? {
        code { _ = try DatabaseOpener.open(path, for: .writing) }
    }

    private func setMode(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    // MARK: Files that are no database

    @Test func missingFileIsNotMade() {
        #expect(openCode() == .noSuchFile)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func folder_isNotADatabase() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        #expect(openCode() == .notADatabase)
    }

    @Test func textIsNotADatabase() throws {
        let text = Data(String(repeating: "this is not a database\n", count: 100).utf8)
        try text.write(to: URL(fileURLWithPath: path))
        #expect(openCode() == .notADatabase)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == text)
    }

    @Test func damagedSchemaIsCorrupt() throws {
        try makeDatabase()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // The head of the first page's b-tree follows the file's header of 100 bytes.
        bytes.replaceSubrange(100..<140, with: repeatElement(0xff, count: 40))
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(openCode() == .corrupt)
    }

    @Test func linkIsFollowed() throws {
        try makeDatabase()
        let link = folder.file("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(try Tracker(path: link).track().tracked == ["item"])
        #expect(try Tracker(path: path).verify().isEmpty)
    }

    // MARK: Files of others

    @Test(.enabled(if: geteuid() != 0, "root may write everything"))
    func readOnlyFileOrFolderIsRefused() throws {
        try makeDatabase()
        try setMode(0o444, path)
        #expect(openCode() == .readOnly)
        try setMode(0o000, path)
        #expect(openCode() == .notAllowed)
        try setMode(0o644, path)
        try setMode(0o555, folder.path)
        #expect(openCode() == .readOnly)
        try setMode(0o755, folder.path)
        #expect(openCode() == nil)
    }

    private struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var file: FilePermissions
        var folder = FilePermissions(owner: 1, group: 10, mode: 0o755)
        var user: UInt32
        var group: UInt32
        /// The groups of the file's owner.
        var ownerGroups: [UInt32] = [10]
        /// Who would be locked out.
        var lockedOut: String?
    }

    private static func file(_ mode: UInt32, group: UInt32 = 10) -> FilePermissions {
        FilePermissions(owner: 1, group: group, mode: mode)
    }

    private static let shared = FilePermissions(owner: 1, group: 20, mode: 0o2775)

    private static let cases = [
        Case(testDescription: "the owner", file: file(0o600), user: 1, group: 10),
        Case(testDescription: "root", file: file(0o600), user: 0, group: 0),
        Case(
            testDescription: "root, file of a group", file: file(0o660, group: 20), user: 0,
            group: 0),
        Case(
            testDescription: "another in the group", file: file(0o664), user: 2, group: 10,
            lockedOut: nil),
        Case(
            testDescription: "another, writing as a group the owner is not in",
            file: file(0o664), user: 2, group: 30, lockedOut: "owner"),
        Case(
            testDescription: "another, by a rule for others alone", file: file(0o646), user: 2,
            group: 30),
        Case(
            testDescription: "another, file of mode 644 (by an access list)", file: file(0o644),
            user: 2, group: 10, lockedOut: "owner"),
        Case(
            testDescription: "the owner, whose group is not the file's",
            file: file(0o664, group: 20),
            user: 1, group: 10, lockedOut: "group"),
        Case(
            testDescription: "the same, but only the owner may write",
            file: file(0o644, group: 20), user: 1, group: 10),
        Case(
            testDescription: "the same, in a folder that gives its group",
            file: file(0o664, group: 20), folder: shared, user: 1, group: 10),
        Case(
            testDescription: "another, in a folder that gives the group of both",
            file: file(0o664, group: 20), folder: shared, user: 2, group: 30,
            ownerGroups: [10, 20]),
        Case(
            testDescription: "the same, but the owner is not in it",
            file: file(0o664, group: 20), folder: shared, user: 2, group: 30, lockedOut: "owner"),
        Case(
            testDescription: "a file that everybody may write", file: file(0o666, group: 20),
            user: 2, group: 30),
    ]

    @Test(arguments: cases)
    private func nobodyIsLockedOut(_ example: Case) {
        let reason = FilePermissions.lockout(
            database: example.file, directory: example.folder, user: example.user,
            group: example.group, ownerIsIn: { example.ownerGroups.contains($0) })
        if let lockedOut = example.lockedOut {
            #expect(reason?.hasPrefix("its \(lockedOut) ") == true)
        } else {
            #expect(reason == nil)
        }
    }

    /// As root: what SQLite makes on our behalf belongs to the file's owner, with the file's mode.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func filesOfRootBelongToTheOwner() throws {
        try makeDatabase(wal: true)
        let owner: [FileAttributeKey: Any] = [.ownerAccountID: 1, .groupOwnerAccountID: 1]
        try FileManager.default.setAttributes(owner, ofItemAtPath: path)
        try setMode(0o640, path)
        let queue = try DatabaseOpener.open(path, for: .writing)
        try Tracker(queue).track()
        for suffix in ["-wal", "-shm"] {
            let made = try FileManager.default.attributesOfItem(atPath: path + suffix)
            #expect(made[.ownerAccountID] as? Int == 1 && made[.groupOwnerAccountID] as? Int == 1)
            #expect(made[.posixPermissions] as? Int == 0o640)
        }
    }

    // MARK: What opening leaves alone

    /// Looking at the header must not drop the locks of this process
    /// (https://www.sqlite.org/howtocorrupt.html §2.2).
    @Test func locksOfOtherConnectionsStand() throws {
        try makeDatabase()
        let writer = try PlainConnection(path)
        try writer.run("BEGIN EXCLUSIVE")
        _ = code { _ = try DatabaseOpener.open(path, for: .writing) }
        let other = Process()
        other.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        other.arguments = ["sqlite3", path, "SELECT count(*) FROM item"]
        (other.standardOutput, other.standardError) = (Pipe(), Pipe())
        try other.run()
        other.waitUntilExit()
        #expect(other.terminationStatus != 0, "the file is locked")
        try writer.run("COMMIT")
    }

    @Test(arguments: ["wal", "delete", "truncate"])
    func journalModeStays(_ mode: String) throws {
        try makeDatabase()
        let db = try PlainConnection(path)
        try db.run("PRAGMA journal_mode = \(mode)")
        try Tracker(path: path).track()
        let stored = try PlainConnection(path).value("PRAGMA journal_mode")
        #expect(stored == (mode == "wal" ? "wal" : "delete"))
    }

    @Test func newerFormatIsRefusedByAll() throws {
        try makeDatabase()
        let tracker = try Tracker(path: path)
        try tracker.track()
        let db = try PlainConnection(path)
        try db.run("UPDATE syncd_meta SET value = 2 WHERE key = 'format'; CREATE TABLE t(a)")
        let before = try db.dump()
        #expect(code { try tracker.track() } == .newerFormat)
        #expect(code { _ = try tracker.verify() } == .newerFormat)
        #expect(code { try tracker.repairCapture() } == .newerFormat)
        #expect(code { try tracker.untrack() } == .newerFormat)
        #expect(try db.dump() == before)
    }

    @Test func failureLeavesTheFileAsItWas() throws {
        try makeDatabase()
        let db = try PlainConnection(path)
        let before = try db.dump()
        let tracker = try Tracker(path: path)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try tracker.track(
                entities: .all, options: [:], mending: { _, _ in nil },
                alongside: { _ in throw Stop() })
        }
        #expect(try db.dump() == before)
    }
}

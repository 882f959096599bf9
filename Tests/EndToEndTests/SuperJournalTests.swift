import Foundation
import SyncTesting
import Testing

/// SQLite deletes the file that the journal of a transaction over several databases names. Who can
/// write a database can write such a journal: the programs must not delete other files for it.
@Suite("Journals that name other files", .timeLimit(.minutes(5)))
struct SuperJournalTests {
    @Test("a file that a journal names stays, with a daemon and without", arguments: [true, false])
    func theNamedFileStays(besideDaemon: Bool) async throws {
        try await Scene.with { scene in
            try await scene.sql("item.db", "CREATE TABLE item(id INTEGER PRIMARY KEY, v)")
            let other = scene.folder.path("other.txt")
            try "precious".write(toFile: other, atomically: true, encoding: .utf8)
            if besideDaemon { _ = try await scene.startDaemon() }
            try Self.writeJournal(of: scene.folder.path("item.db"), naming: other)
            let socket = besideDaemon ? ["--socket", scene.socket] : ["--direct"]
            // The first call finds the journal, and rolls it back.
            _ = try await scene.run(["track", "item.db"] + socket)
            #expect(try String(contentsOfFile: other, encoding: .utf8) == "precious")
            let journal = scene.folder.path("item.db") + "-journal"
            #expect(!FileManager.default.fileExists(atPath: journal), "it was not looked at")
            try await scene.run(["track", "item.db"] + socket).expectSuccess()
        }
    }

    /// The journal of a transaction that wrote nothing yet, with the name of a super-journal:
    /// https://www.sqlite.org/fileformat2.html#the_rollback_journal
    private static func writeJournal(of database: String, naming other: String) throws {
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        func word(_ value: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        }
        let file = try Data(contentsOf: URL(fileURLWithPath: database))
        let stored = UInt32(file[16]) << 8 | UInt32(file[17])
        let pageSize = stored == 1 ? 65_536 : stored
        let name = Array(other.utf8)
        let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
        var journal = magic + word(0) + word(1234) + word(UInt32(file.count) / pageSize)
        journal += word(512) + word(pageSize)
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        journal += word(0x4000_0000 / pageSize + 1) + name + word(UInt32(name.count)) + word(sum)
        journal += magic
        try Data(journal).write(to: URL(fileURLWithPath: database + "-journal"))
    }
}

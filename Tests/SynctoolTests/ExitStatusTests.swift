import Foundation
import SyncClient
import SyncCore
import Testing

@testable import synctool

@Suite("Errors at the command line")
struct ExitStatusTests {
    @Test func everyCodeHasItsStatusInTheManual() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let manual = try String(
            contentsOf: root.appendingPathComponent("docs/cli.md"), encoding: .utf8)
        for row in ErrorTable.rows {
            let line = manual.split(separator: "\n").first { $0.hasPrefix("| \(row.exitStatus) |") }
            #expect(line?.contains("`\(row.code.name)`") == true, "\(row.code) \(row.exitStatus)")
        }
    }

    @Test func messageNamesFileReasonAndNextStep() {
        let error = SyncError(
            .notTracked, "the database is not tracked", operation: "open",
            path: StorePath.absolute("my music.db"), hint: "Run: synctool track DB")
        let text = Failure.message(
            error, command: "history", typed: "my music.db", on: Terminal(descriptor: -1))
        #expect(
            text == """
                synctool history: my music.db: the database is not tracked
                  Run: synctool track 'my music.db'
                """)
    }

    @Test func anotherFileKeepsItsName() {
        let error = SyncError(.unreachable, "no daemon answers", path: "/run/x.sock")
        let text = Failure.message(
            error, command: "status", typed: "music.db", on: Terminal(descriptor: -1))
        #expect(text == "synctool status: /run/x.sock: no daemon answers")
    }
}

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
        let failure = Failure(command: "history", typed: "my music.db")
        let text = failure.message(error, on: Terminal(descriptor: -1))
        #expect(
            text == """
                synctool history: my music.db: the database is not tracked
                  Run: synctool track 'my music.db'
                """)
    }

    @Test func anotherFileKeepsItsName() {
        let error = SyncError(.unreachable, "no daemon answers", path: "/run/x.sock")
        let text = Failure(command: "status", typed: "music.db").message(
            error, on: Terminal(descriptor: -1))
        #expect(text == "synctool status: /run/x.sock: no daemon answers")
    }

    @Test func anErrorAsAnObjectHasTheSameParts() {
        let error = SyncError(
            .notTracked, "the database is not tracked", operation: "open",
            path: StorePath.absolute("my music.db"), hint: "Run: synctool track DB")
        let json = Failure(command: "history", typed: "my music.db").json(error)
        #expect(
            json.description
                == #"{"error":"notTracked","status":1,"command":"history","file":"my music.db","#
                + #""message":"the database is not tracked","#
                + #""hint":"Run: synctool track 'my music.db'"}"#)
    }

    @Test func aHugeArgumentIsCut() {
        let error = SyncError(.invalidArgument, String(repeating: "x", count: 1_000_000))
        let text = Failure(command: "").message(error, on: Terminal(descriptor: -1))
        #expect(text.hasPrefix("synctool: xxx") && text.count < 3_000)
    }
}

import Foundation
import SyncCore
import Testing

@testable import synctool

/// The keys of `--json` are those of docs/cli.md.
@Suite("JSON of the commands", .timeLimit(.minutes(5)))
struct JSONOutputTests {
    private static func page() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try ["docs/cli.md", "docs/protocol.md"].map {
            try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8)
        }.joined()
    }

    @Test(arguments: [
        "track DB --direct", "history DB --direct",
        "history DB --direct --count", "consumers add DB me --direct", "consumers DB --direct",
        "purge DB --direct", "revert DB LAST", "show DB Album/348", "diff DB 0",
        "blame DB Album/348",
        "purge DB --object Album/348", "doctor DB --direct", "remote list DB", "remote members DB",
        "remote name DB kiosk", "policy DB", "schema DB", "key show DB", "conflicts DB",
        "upgrade DB",
    ])
    func everyKeyIsDocumented(line: String) async throws {
        let world = try InProcess()
        let page = try Self.page()
        let store = try Store.open(world.database)
        let last = try store.head().number
        try store.close()
        let arguments = line.split(separator: " ").map { word -> String in
            return word == "DB" ? world.database : word == "LAST" ? "\(last)" : String(word)
        }
        // No replica has told a schema before the store is one that merges.
        if line == "schema DB" { _ = await InProcess.run(["upgrade", world.database]) }
        let output = await InProcess.run(arguments + ["--json"])
        #expect(output.status == 0, "\(output.errors)")
        for text in output.text.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            for key in try #require(object, "one object in a line: \(text)").keys {
                #expect(
                    page.contains("`\(key)`") || page.contains("\"\(key)\""),
                    "\(line): \(key) is not in docs/cli.md")
            }
        }
    }

    @Test func anErrorHasTheKeysOfThePage() async throws {
        let output = await InProcess.run(["history", "/nonexistent/x.db", "--direct", "--json"])
        #expect(output.status == 66 && output.text.isEmpty)
        let keys = try #require(output.error).keys
        let page = try Self.page()
        for key in keys { #expect(page.contains("`\(key)`"), "\(key)") }
        #expect(Set(keys).count == 6)
    }
}

import ArgumentParser
import Foundation
import SyncClient
import SyncCore
import Testing

@testable import synctool

/// Every command with arguments that are missing, wrong, hostile and huge: the status, and a
/// message that a person can read and act on.
@Suite("Wrong arguments of every command", .timeLimit(.minutes(15)))
struct WrongArgumentTests {
    /// A command, and what a user writes after it. `DB` is the database.
    private struct Form {
        let words: [String]
        let arguments: [String]
        var options: [String] = []
        /// Places whose text may be anything.
        var free: Set<Int> = []

        init(
            _ command: String, _ arguments: String..., options: [String] = [], free: Set<Int> = []
        ) {
            words = command.split(separator: " ").map(String.init)
            self.arguments = arguments
            self.options = options
            self.free = free
        }
    }

    private static let direct = ["--direct"]
    /// A folder that is not there: with right names all around it nothing is made.
    private static let nowhere = "dir:/nonexistent/remote"

    /// All commands but those that start or ask a daemon, read the standard input or write the user's
    /// files: demo, metrics, serve, key identity.
    private static let forms = [
        Form("track", "DB", options: direct), Form("untrack", "DB", options: direct),
        Form("forget-sync", "DB", options: direct),
        Form("status", "DB", options: direct), Form("history", "DB", options: direct),
        Form("watch", "DB", options: direct), Form("consumers list", "DB", options: direct),
        Form("consumers add", "DB", "me", options: direct, free: [1]),
        Form("consumers ack", "DB", "me", "TOKEN", options: direct),
        Form("consumers remove", "DB", "me", options: direct, free: [1]),
        Form("purge", "DB", options: direct),
        Form("revert", "DB", "1"), Form("restore", "DB", "Album/1"),
        Form("show", "DB", "Album/348"), Form("diff", "DB", "1"), Form("blame", "DB", "Album/348"),
        Form("remote add", "DB", "origin", nowhere), Form("remote list", "DB"),
        Form("remote remove", "DB", "origin"), Form("remote members", "DB"),
        Form("remote name", "DB", "kiosk", free: [1]), Form("push", "DB", "origin"),
        Form("pull", "DB", "origin"), Form("sync", "DB", "origin"), Form("clone", nowhere, "DB"),
        Form("upgrade", "DB"), Form("conflicts list", "DB"), Form("conflicts show", "DB", "1"),
        Form("conflicts resolve", "DB", "1"), Form("policy", "DB", "Album"),
        Form("key make", "DB"), Form("key show", "DB"),
        Form("key share", "DB", options: ["--to", "x"]),
        Form("key import", "DB", "nothing"), Form("key rotate", "DB"),
        Form("doctor", "DB", options: direct), Form("alter", "DB", "DROP TABEL x", free: [1]),
        Form("schema", "DB"), Form("migrate", "DB"),
    ]

    /// What a user may write by mistake or on purpose.
    private static func values(_ world: InProcess) -> [String] {
        [
            "", "/nonexistent/x.db", "/", "/dev/null", world.text, "\u{1B}]0;x\u{7}\u{1B}[31m",
            "\u{202E}gnp.db", "-1", "'; DROP TABLE Album; --", "ø\u{301}\u{200D}%s%n",
            "99999999999999999999", String(repeating: "x", count: 100_000), "a\nb",
            String(repeating: "a/", count: 3_000),
            "--" + String(repeating: "x", count: 5_000),
        ]
    }

    @Test func everyCommandIsThere() {
        func leaves(_ type: any ParsableCommand.Type, _ words: [String]) -> [[String]] {
            let children = type.configuration.subcommands
            if children.isEmpty { return [words] }
            return children.flatMap {
                leaves($0, words + [$0.configuration.commandName ?? "\($0)".lowercased()])
            }
        }
        let all = Set(leaves(Synctool.self, []).map { $0.joined(separator: " ") })
        let known = Set(Self.forms.map { $0.words.joined(separator: " ") })
        #expect(known.subtracting(all).isEmpty)
        let left = all.subtracting(known).subtracting(
            ["demo", "metrics", "top", "config", "ui", "serve", "key identity"])
        #expect(left.isEmpty, "without a form: \(left.sorted())")
    }

    @Test func messagesCanBeReadAndActedOn() async throws {
        let world = try InProcess()
        let before = await InProcess.run(["history", world.database, "--direct", "--count"])
        var calls = 0
        for form in Self.forms {
            let arguments = form.arguments.map { $0 == "DB" ? world.database : $0 }
            for place in arguments.indices {
                for (index, value) in Self.values(world).enumerated() {
                    var wrong = arguments
                    wrong[place] = value
                    let line = form.words + wrong + form.options
                    // Each as text or as JSON, in turn.
                    let style = (index + place + calls).isMultiple(of: 2) ? ["--json"] : []
                    await check(line + style, mayWork: form.free.contains(place))
                    calls += 1
                }
                let short = form.words + arguments.prefix(place) + form.options
                // The default: all remotes, the present state, the whole list.
                await check(short, mayWork: place > 0)
                calls += 1
            }
            await check(form.words + arguments + ["--nonsense"], mayWork: false)
            await check(form.words + arguments + ["one", "two", "more"], mayWork: false)
            calls += 2
        }
        #expect(calls > 1_000, "\(calls) calls")
        // Nothing was changed by what was refused.
        let after = await InProcess.run(["history", world.database, "--direct", "--count"])
        #expect(after.status == 0 && after.text == before.text, "\(after.text)\(after.errors)")
    }

    /// A failure has a status of docs/cli.md and two lines: what is wrong, and what to do.
    private func check(_ arguments: [String], mayWork: Bool) async {
        let output = await InProcess.run(arguments)
        let shown = arguments.map { $0.count > 60 ? $0.prefix(60) + "…" : $0[...] }
        let comment = Comment(rawValue: "\(shown): \(output.status) \(output.errors.prefix(2_000))")
        let all = output.text + output.errors
        // A string in JSON is what it is, but for control characters.
        let isJSON = arguments.contains("--json")
        let isHostile = all.unicodeScalars.contains {
            Self.isControl($0) || !isJSON && $0.properties.isBidiControl
        }
        #expect(!isHostile, comment)
        if mayWork, output.status == 0 { return }
        #expect([1, 64, 65, 66, 69, 75, 77].contains(output.status), comment)
        #expect(output.errors.count < 20_000, comment)
        #expect(!all.contains(Self.internals), comment)
        guard isJSON else {
            let lines = output.errors.split(separator: "\n")
            #expect(lines.contains { $0.hasPrefix("synctool") }, comment)
            #expect(lines.count >= 2 && lines.allSatisfy { $0.count < 2_100 }, comment)
            return
        }
        guard let error = output.error else {
            Issue.record("no object: \(comment)")
            return
        }
        #expect(
            Set(error.keys) == ["error", "status", "command", "file", "message", "hint"], comment)
        let status = (error["status"] as? Int).map(Int32.init)
        let code = output.string("error").flatMap { ErrorTable.code(named: $0) }
        let statusOfCode = code.map { ErrorTable.exitStatus(for: $0) }
        let (message, hint) = (output.string("message") ?? "", output.string("hint") ?? "")
        #expect(status == output.status && statusOfCode == output.status, comment)
        #expect(!message.isEmpty && !hint.isEmpty, comment)
    }

    /// Words of this program's inside, and of its libraries.
    nonisolated(unsafe) private static let internals =
        /SyncError|[a-z]Error\b|NSError|Optional\(|Swift\.|GRDB|SQLITE_|Error Domain|\.swift:/

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 && scalar != "\n" || 0x7F...0x9F ~= scalar.value
    }
}

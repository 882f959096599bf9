import ArgumentParser
import Testing

@testable import synctool

/// Every command takes `--socket` and `--direct` only where they have a meaning, and says so.
@Suite("Options of the commands")
struct CommandOptionTests {
    /// The commands that can use the daemon or the file.
    private static let daemonCommands: Set = [
        "track", "untrack", "status", "history", "watch", "consumers list", "consumers add",
        "consumers ack", "consumers remove", "purge", "doctor", "forget-sync",
    ]
    /// The commands that are about the daemon, and take `--socket` alone.
    private static let daemonAlone: Set = ["metrics", "top", "config", "ui"]
    /// The commands that have no store, or a private daemon.
    private static let otherCommands: Set = ["demo", "key identity"]

    private struct Leaf {
        let words: [String]
        let type: any ParsableCommand.Type
        var name: String { words.joined(separator: " ") }
    }

    /// All commands without subcommands.
    private static func leaves(
        of command: any ParsableCommand.Type = Synctool.self, at words: [String] = []
    ) -> [Leaf] {
        let children = command.configuration.subcommands
        guard !children.isEmpty else { return [Leaf(words: words, type: command)] }
        return children.flatMap { child in
            let name = child.configuration.commandName ?? String(describing: child).lowercased()
            return leaves(of: child, at: words + [name])
        }
    }

    @Test func everyCommandIsListedOnce() {
        let all = Self.leaves().map(\.name)
        #expect(Set(all).count == all.count && all.count >= 30)
        let known = Self.daemonCommands.union(Self.otherCommands).union(Self.daemonAlone)
        #expect(known.subtracting(all).isEmpty, "renamed or removed")
        let files = Self.leaves().filter { $0.type is any FileCommand.Type }.map(\.name)
        #expect(Set(files) == Set(all).subtracting(known), "every other command is a FileCommand")
    }

    @Test func helpNamesTheOptionsOnlyWhereTheyWork() {
        for leaf in Self.leaves() {
            let help = Synctool.helpMessage(for: leaf.type, columns: 10_000)
            let takesThem = Self.daemonCommands.contains(leaf.name)
            let takesSocket = takesThem || Self.daemonAlone.contains(leaf.name)
            #expect(help.contains("--socket <path>") == takesSocket, "\(leaf.name)")
            #expect(help.contains("--direct  ") == takesThem, "\(leaf.name)")
            let isFile = leaf.type is any FileCommand.Type
            #expect(help.contains(FileCommandHelp.note) == isFile, "\(leaf.name)")
        }
        let help = Synctool.helpMessage(columns: 10_000)
        let words = Set(Self.daemonCommands.compactMap { $0.split(separator: " ").first })
        let sentence = help.split(separator: "\n").first { $0.contains("use the daemon syncd") }
        for word in words { #expect(sentence?.contains(word) == true, "\(word)") }
        #expect(sentence?.contains("other commands work on the file itself") == true)
    }

    @Test(arguments: ["--socket", "--direct"])
    func elsewhereTheyAreUsageErrors(option: String) throws {
        for leaf in Self.leaves() where !Self.daemonCommands.contains(leaf.name) {
            if option == "--socket", Self.daemonAlone.contains(leaf.name) { continue }
            let arguments = leaf.words + [option]
            let error = failure(arguments)
            #expect(Synctool.exitCode(for: error) == .validationFailure, "\(leaf.name)")
            let message = try #require(UsageMessage.explaining(error, arguments: arguments))
            #expect(message.problem == "unknown option '\(option)'")
            #expect(message.hint.contains("leave \(option) out") && message.command == leaf.name)
        }
    }

    @Test func unknownCommandsAreNamedWithTheSimilarOne() {
        let typo = UsageMessage.unknownCommand(in: ["trak", "music.db"])
        #expect(typo?.problem == "unknown command 'trak'")
        #expect(typo?.hint == "Did you mean: synctool track")
        #expect(UsageMessage.unknownCommand(in: ["help", "xyzzy"])?.hint.contains("help") == true)
        let nested = UsageMessage.unknownCommand(in: ["remote", "lst", "a.db"])
        #expect(nested?.hint == "Did you mean: synctool remote list")
        let nested2 = UsageMessage.unknownCommand(in: ["consumers", "lst", "a.db"])
        #expect(nested2?.hint == "Did you mean: synctool consumers list")
        #expect(
            UsageMessage.unknownCommand(in: ["log", "a.db"])?.hint
                == "Did you mean: synctool history")
        for known in [["track", "a.db"], ["conflicts", "a.db"], ["help"], ["--version"], []] {
            #expect(UsageMessage.unknownCommand(in: known) == nil, "\(known)")
        }
    }

    @Test func negativeNumbersAreNotTakenForOptions() throws {
        #expect(
            Synctool.message(for: failure(["history", "a.db", "--limit", "-1"])).contains(
                "at least 1"))
        let arguments = ["revert", "a.db", "-1"]
        let message = UsageMessage.explaining(failure(arguments), arguments: arguments)
        #expect(message?.problem == "'-1' is not the number of a transaction")
    }

    @Test(arguments: [
        (["history", "a.db", "--jsn"], "unknown option '--jsn'", "Did you mean '--json'? See: "),
        (
            ["consumers", "add", "a.db", "me", "--kind", "redaer"],
            "the value 'redaer' is invalid for '--kind <kind>'",
            "Did you mean 'reader'? It takes: reader, writer, peer. "
        ),
        (
            ["policy", "a.db", "t", "--deletes", "editWin"],
            "the value 'editWin' is invalid for '--deletes <policy>'", "Did you mean 'editWins'?"
        ),
        (
            ["consumers", "add", "a.db", "me", "--lease", "soon"],
            "the value 'soon' is invalid for '--lease <time>'", "--lease <time>: How long purging"
        ),
        (["revert", "a.db"], "missing expected argument '<number>'", "<number>: The transaction"),
        (["track", "a.db", "b.db"], "unexpected argument 'b.db'", "See: synctool help track"),
        (["purge", "a.db", "--force"], "--force has no effect without", "help purge"),
    ])
    func usageErrorsSayWhatToDo(_ arguments: [String], problem: String, hint: String) throws {
        let error = failure(arguments)
        let message = try #require(UsageMessage.explaining(error, arguments: arguments))
        #expect(message.problem.hasPrefix(problem), "\(message)")
        #expect(message.hint.contains(hint) && message.hint.contains("synctool help"), "\(message)")
        #expect(!message.problem.hasSuffix("."))
    }

    private func failure(_ arguments: [String]) -> any Error {
        do {
            _ = try Synctool.parseAsRoot(arguments)
            return OutputClosed()
        } catch {
            return error
        }
    }

    @Test func defaultsAreShownAsTheyAreTyped() {
        #expect(Lease(duration: .seconds(60)).defaultValueDescription == "1m")
        #expect(Lease(duration: .seconds(90)).defaultValueDescription == "90s")
        let help = Synctool.helpMessage(for: Push.self, columns: 10_000)
        #expect(help.contains("(default: 1m)"))
    }
}

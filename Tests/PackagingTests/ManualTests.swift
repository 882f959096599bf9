import Foundation
import SyncTesting
import Testing

/// Manual pages and completions are made from what the programs say of themselves: every command
/// and every option is in them.
@Suite("Manual pages and completions", .timeLimit(.minutes(5)))
struct ManualTests {
    /// What `--experimental-dump-help` prints, as far as it is needed.
    struct Help: Decodable {
        let command: Command
    }

    struct Command: Decodable {
        let commandName: String
        let shouldDisplay: Bool?
        let subcommands: [Command]?
        let arguments: [Argument]?

        var shown: [Command] {
            (subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
        }

        /// `--json`, `-h`.
        var options: [String] {
            (arguments ?? []).filter { $0.shouldDisplay != false }.flatMap { $0.names ?? [] }
                .map { ($0.kind == "short" ? "-" : "--") + $0.name }
        }
    }

    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let shouldDisplay: Bool?
        let names: [Name]?
    }

    private func help(of program: String) throws -> Command {
        let path = Package.products.appending(path: program).path
        let text = try Package.run(path, ["--experimental-dump-help"]).text
        return try JSONDecoder().decode(Help.self, from: Data(text.utf8)).command
    }

    /// A page without the escapes of roff.
    private func page(_ name: String, in folder: TemporaryFolder) throws -> String {
        try String(contentsOfFile: folder.file(name), encoding: .utf8)
            .replacing("\\-", with: "-").replacing("\\fB", with: "").replacing("\\fR", with: "")
    }

    private func check(_ command: Command, named words: String, in page: String) {
        #expect(page.contains(words), "\(words)")
        for option in command.options where option != "--version" {
            let isThere = page.split(separator: "\n").contains { line in
                line == option || line.hasPrefix(option + " ") || line.hasPrefix(option + ",")
                    || line.hasSuffix(", " + option) || line.contains(", " + option + " ")
            }
            #expect(isThere, "\(words) \(option)")
        }
        for child in command.shown {
            check(child, named: "\(words) \(child.commandName)", in: page)
        }
    }

    @Test func everyCommandAndOptionIsInThePages() throws {
        let folder = try TemporaryFolder()
        let ended = try Package.run(
            "scripts/manual.py", [Package.products.path, folder.file("")])
        #expect(ended.status == 0, "\(ended.text)")
        check(try help(of: "syncd"), named: "syncd", in: try page("man8/syncd.8", in: folder))
        let tool = try help(of: "synctool")
        let index = try page("man1/synctool.1", in: folder)
        #expect(tool.shown.count > 20)
        for command in tool.shown {
            let name = "synctool-\(command.commandName)"
            #expect(index.contains("\(name)(1)"))
            check(
                command, named: "synctool \(command.commandName)",
                in: try page("man1/\(name).1", in: folder))
        }
    }

    @Test(arguments: ["syncd", "synctool"], ["bash", "zsh", "fish"])
    func everyCommandAndOptionIsCompleted(program: String, shell: String) throws {
        let path = Package.products.appending(path: program).path
        let script = try Package.run(path, ["--generate-completion-script", shell]).text
        func check(_ command: Command) {
            for option in command.options {
                let word = shell == "fish" ? String(option.drop { $0 == "-" }) : option
                #expect(script.contains(word), "\(command.commandName) \(option)")
            }
            for child in command.shown {
                #expect(script.contains(child.commandName), "\(child.commandName)")
                check(child)
            }
        }
        check(try help(of: program))
        #expect(!script.contains("worker"))
    }
}

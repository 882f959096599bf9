import ArgumentParser
import Glibc
import SyncCore

/// Usage errors, each as one sentence and what to run next. The text of the argument parser is
/// used where it is precise.
struct UsageMessage: Equatable {
    /// Usage lines that are longer are not shown.
    private static let usageWidthMax = 90
    /// Options that are longer do not exist.
    private static let optionLengthMax = 60

    /// One sentence.
    let problem: String
    /// The command to run next, or what to leave out.
    let hint: String
    /// The words of the command: `remote add`; empty for synctool itself.
    let command: String

    /// The same, for ``Failure``.
    var error: SyncError { SyncError(.invalidArgument, problem, hint: hint) }

    /// Names that other programs have for these commands.
    private static let synonyms = [
        "log": "history", "init": "track", "undo": "revert", "fetch": "pull", "list": "status",
        "recover": "restore", "annotate": "blame",
    ]

    /// The message for arguments that name no command.
    ///
    /// - Returns: nil when the command exists, or none is named.
    static func unknownCommand(in arguments: [String]) -> UsageMessage? {
        let words = arguments.first == "help" ? Array(arguments.dropFirst()) : arguments
        let (command, path) = resolve(words)
        let rest = words.dropFirst(path.count)
        let children = command.configuration.subcommands
        guard let word = rest.first, !word.hasPrefix("-"), !children.isEmpty, word != "help"
        else { return nil }
        let synonym = path.isEmpty ? synonyms[word] : nil
        let similar = SimilarName.nearest(to: word, among: children.map(name)) ?? synonym
        // With a default command the word is that command's argument, if there is such a file.
        if command.configuration.defaultSubcommand != nil,
            similar == nil || access(word, F_OK) == 0
        {
            return nil
        }
        let prefix = (["synctool"] + path).joined(separator: " ")
        return UsageMessage(
            problem: "unknown command '\(word)'",
            hint: similar.map { "Did you mean: \(prefix) \($0)" }
                ?? "See the commands: synctool help" + path.map { " " + $0 }.joined(),
            command: path.joined(separator: " "))
    }

    /// The message for an option that is longer than any that there is. The argument parser would
    /// compare it with each of them, which takes the square of its length.
    static func longOption(in arguments: [String]) -> UsageMessage? {
        let name = arguments.prefix { $0 != "--" }.lazy.filter { $0.hasPrefix("--") }
            .map { $0.prefix { $0 != "=" } }.first { $0.count > optionLengthMax }
        guard let name else { return nil }
        let words = resolve(arguments).path.joined(separator: " ")
        return UsageMessage(
            problem: "unknown option '\(name.prefix(optionLengthMax))…'",
            hint: "See: synctool help" + (words.isEmpty ? "" : " " + words), command: words)
    }

    /// The message for an error of the argument parser.
    ///
    /// - Returns: nil for what is no usage error: the help, the version.
    static func explaining(_ error: any Error, arguments: [String]) -> UsageMessage? {
        guard Synctool.exitCode(for: error) == .validationFailure else { return nil }
        let (command, path) = resolve(arguments)
        let text = Synctool.message(for: error)
        let words = path.joined(separator: " ")
        let isFileCommand = command is any FileCommand.Type
        let options = arguments.prefix { $0 != "--" }
        for option in ["--socket", "--direct"] {
            // The parser may report a missing argument first.
            let isGiven = options.contains { $0 == option || $0.hasPrefix(option + "=") }
            guard text.contains("Unknown option '\(option)'") || isFileCommand && isGiven else {
                continue
            }
            return UsageMessage(
                problem: "unknown option '\(option)'",
                hint: isFileCommand
                    ? "This command works on the file itself: leave \(option) out"
                    : "This command does not use the daemon: leave \(option) out",
                command: words)
        }
        if command == Revert.self, text.contains("<number>"),
            let number = arguments.first(where: { $0.hasPrefix("-") && Int($0) != nil })
        {
            return UsageMessage(
                problem: "'\(number)' is not the number of a transaction",
                hint: "List the transactions: synctool history DB", command: words)
        }
        return general(text, full: Synctool.fullMessage(for: error), command: words)
    }

    /// The parser's text in the form of the other messages.
    /// - Parameter full: with the help of the option and the usage line.
    private static func general(_ text: String, full: String, command: String) -> UsageMessage {
        let see = "See: synctool help" + (command.isEmpty ? "" : " " + command)
        var (problem, hint) = (text, "")
        if let range = text.firstRange(of: ". Did you mean ") {
            problem = String(text[..<range.lowerBound])
            hint = String(text[range.lowerBound...].dropFirst(2)) + " "
        } else if let range = text.firstRange(of: ". Please provide one of") {
            problem = String(text[..<range.lowerBound])
            let choices = choices(in: text[range.upperBound...])
            let value = problem.split(separator: "'").dropFirst().first.map(String.init) ?? ""
            hint = SimilarName.hint(value, among: choices, title: "It takes") + ". "
        } else {
            let lines = full.split(separator: "\n").map(String.init)
            let usage = lines.last { $0.hasPrefix("Usage: ") } ?? ""
            // What a user typed may have lines, too: the parser's come last.
            if let help = lines.last(where: { $0.hasPrefix("Help:  ") }) {
                hint = explanation(String(help.dropFirst("Help:  ".count)))
            } else if !usage.isEmpty, usage.count <= usageWidthMax {
                hint = usage + ". "
            }
        }
        while problem.hasSuffix(".") { problem.removeLast() }
        return UsageMessage(
            problem: problem.prefix(1).lowercased() + problem.dropFirst(), hint: hint + see,
            command: command)
    }

    /// `--lease <time>: How long purging waits. ` of the parser's two columns.
    private static func explanation(_ help: String) -> String {
        let parts = help.split(separator: "  ", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return "" }
        return parts[0] + ": " + parts[1].drop { $0 == " " } + " "
    }

    /// The values that the parser lists: `'reader', 'writer' or 'peer'`, or one on a line.
    private static func choices(in text: Substring) -> [String] {
        if text.contains("\n") {
            return text.split(separator: "\n").map { String($0.drop { " -:".contains($0) }) }
                .filter { !$0.isEmpty }
        }
        return text.split(separator: "'").enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    /// The innermost command that the arguments name, and its words.
    private static func resolve(
        _ arguments: [String]
    ) -> (command: any ParsableCommand.Type, path: [String]) {
        var command: any ParsableCommand.Type = Synctool.self
        var path: [String] = []
        for word in arguments {
            guard let next = command.configuration.subcommands.first(where: { name($0) == word })
            else { break }
            command = next
            path.append(word)
        }
        return (command, path)
    }

    private static func name(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? String(describing: command).lowercased()
    }
}

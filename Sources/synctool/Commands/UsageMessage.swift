import ArgumentParser

/// Usage errors that the argument parser cannot explain: unknown commands, options of other
/// commands, and negative numbers, which it takes for options.
struct UsageMessage: Equatable {
    /// One sentence.
    let problem: String
    /// The command to run next, or what to leave out.
    let hint: String
    /// The words of the command: `remote add`; empty for synctool itself.
    let command: String

    /// Two lines: `synctool: unknown command 'trak'` and the hint.
    func text(on terminal: Terminal) -> String {
        let words = command.isEmpty ? "synctool" : "synctool " + command
        return terminal.styled(words + ":", as: .gone) + " \(problem)\n  \(hint)"
    }

    /// The message for arguments that name no command.
    ///
    /// - Returns: nil when the command exists, or none is named.
    static func unknownCommand(in arguments: [String]) -> UsageMessage? {
        let words = arguments.first == "help" ? Array(arguments.dropFirst()) : arguments
        let (command, path) = resolve(words)
        let rest = words.dropFirst(path.count)
        let children = command.configuration.subcommands
        guard let word = rest.first, !word.hasPrefix("-"), !children.isEmpty,
            command.configuration.defaultSubcommand == nil, word != "help"
        else { return nil }
        let names = children.map(name)
        let prefix = (["synctool"] + path).joined(separator: " ")
        let similar = names.min { distance($0, to: word) < distance($1, to: word) }
        let isTypo = similar.map { distance($0, to: word) <= 2 } ?? false
        return UsageMessage(
            problem: "unknown command '\(word)'",
            hint: isTypo
                ? "Did you mean: \(prefix) \(similar ?? "")"
                : "See the commands: synctool help" + path.map { " " + $0 }.joined(),
            command: path.joined(separator: " "))
    }

    /// The message for an error of the argument parser.
    ///
    /// - Returns: nil when the parser's own text is precise.
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
        return nil
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

    /// The number of insertions, deletions and replacements between two words.
    private static func distance(_ word: String, to other: String) -> Int {
        let target = Array(other)
        var row = Array(0...target.count)
        for (line, character) in word.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for column in target.indices {
                let cost = diagonal + (character == target[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(cost, row[column] + 1, diagonal + 1)
            }
        }
        return row[target.count]
    }
}

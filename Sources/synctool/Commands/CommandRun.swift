import ArgumentParser
import SyncCore

/// One command from its start to its exit status.
struct CommandRun {
    private let command: any ParsableCommand
    private let isJSON: Bool

    init(_ command: any ParsableCommand, isJSON: Bool) {
        (self.command, self.isJSON) = (command, isJSON)
    }

    /// Runs what arguments say.
    ///
    /// - Returns: the exit status.
    static func status(of arguments: [String]) async -> Int32 {
        let isJSON = ParsedCommand.wantsJSON(arguments)
        switch ParsedCommand(arguments) {
        case .command(let command): return await CommandRun(command, isJSON: isJSON).status()
        case .message(let message):
            return Failure(command: message.command, isJSON: isJSON).report(message.error)
        case .other(let error):
            return print(error)
        }
    }

    /// Prints help, a version or a completion script.
    private static func print(_ error: any Error) -> Int32 {
        do {
            try Terminal.output.raw(Synctool.fullMessage(for: error))
        } catch let failed as SyncError {
            return Failure(command: "").report(failed)
        } catch {}
        return Synctool.exitCode(for: error).rawValue
    }

    /// Runs the command, and reports its error.
    func status() async -> Int32 {
        let outcome = await outcome()
        // Its error is shown below the output, not within it; nobody has seen the output then.
        var unseen: Int32 = 0
        do {
            try Pager.finish()
        } catch let error as SyncError {
            unseen = failure.report(error)
        } catch {}
        switch outcome {
        case .status(let status): return status == 0 ? unseen : status
        case .failure(let error): return failure.report(error)
        }
    }

    /// How the command ended.
    private enum Outcome {
        case status(Int32)
        case failure(SyncError)
    }

    private func outcome() async -> Outcome {
        do {
            var command = command
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return .status(0)
        } catch is OutputClosed {
            return .status(0)
        } catch let quiet as ExitCode {
            return .status(quiet.rawValue)
        } catch let error as SyncError {
            return .failure(error)
        } catch  where Synctool.exitCode(for: error) == .success {
            // The help of a command that has only subcommands.
            return .status(Self.print(error))
        } catch {
            return .failure(
                SyncError(
                    .internalFault, "unexpected error: \(error)",
                    hint: "Please report it, with the command and this message"))
        }
    }

    private var failure: Failure {
        Failure(
            command: type(of: command).words, typed: (command as? any StoreCommand)?.database,
            isJSON: isJSON)
    }
}

extension ParsableCommand {
    /// `track`, `consumers add`: the words that the user typed for it.
    static var words: String {
        var words = String(reflecting: self).split(separator: ".").dropFirst()
            .map { $0.lowercased() }
        if let name = configuration.commandName, !words.isEmpty { words[words.count - 1] = name }
        return words.joined(separator: " ")
    }
}

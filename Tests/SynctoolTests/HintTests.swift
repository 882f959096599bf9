import ArgumentParser
import Foundation
import Testing

@testable import synctool

/// Hints and help name commands: each has to exist, with the options that it is given.
@Suite("Commands in hints")
struct HintTests {
    private struct Mention {
        let file: String
        let words: [String]
    }

    private static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources").standardizedFileURL

    /// What follows `synctool ` in the string literals of the sources: words until one ends with
    /// punctuation.
    private static func mentions() throws -> [Mention] {
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        var mentions: [Mention] = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            // A literal that goes on in the next line.
            let joined = text.replacing(/"\s*\n\s*\+ "/, with: "").replacing(/\\\n\s*/, with: "")
            for line in joined.split(separator: "\n") {
                let trimmed = line.drop { $0 == " " }
                if trimmed.hasPrefix("//") { continue }
                for match in line.matches(of: /synctool ([a-z][^"`;:()\n]*)/) {
                    var words: [String] = []
                    for word in match.1.split(separator: " ") {
                        let bare = word.trimmingCharacters(in: CharacterSet(charactersIn: ",.'"))
                        words.append(bare)
                        if bare.count != word.count { break }
                    }
                    mentions.append(Mention(file: file.lastPathComponent, words: words))
                }
            }
        }
        return mentions
    }

    @Test func everyCommandExistsWithItsOptions() throws {
        let mentions = try Self.mentions()
        #expect(mentions.count > 80, "the search finds hints")
        for mention in mentions {
            var command: any ParsableCommand.Type = Synctool.self
            var words = mention.words[...]
            while let word = words.first {
                let child = command.configuration.subcommands.first {
                    ($0.configuration.commandName ?? String(describing: $0).lowercased()) == word
                }
                guard let child else { break }
                command = child
                words = words.dropFirst()
            }
            // A sentence about the program itself.
            let isProgram = command == Synctool.self
            if isProgram,
                ["help", "in", "is", "nor", "on", "or", "sent", "uses", "was"].contains(words.first)
            {
                continue
            }
            #expect(!isProgram, "\(mention.file): \(mention.words)")
            let help = Synctool.helpMessage(for: command, columns: 10_000)
            for option in words.prefix(while: { $0 != "--" }) where option.hasPrefix("--") {
                let name = option.prefix { $0.isLetter || $0 == "-" }
                #expect(
                    help.contains("\(name) ") || help.contains("\(name)\n")
                        || help.contains("\(name),"),
                    "\(mention.file): \(mention.words) has no \(name)")
            }
        }
    }
}

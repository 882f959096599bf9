/// Splits the text of a predicate into tokens, each with its position.
struct PredicateLexer {
    enum Token: Equatable {
        case word(String)
        case number(String)
        case string(String)
        case symbol(String)
        case argument
        case keyArgument
        case variable(String)
        case end
    }

    let text: String
    private let characters: [Character]
    private var index = 0

    init(_ text: String) {
        self.text = text
        characters = Array(text)
    }

    /// The next token, and its first character's index.
    mutating func next() throws -> (Token, Int) {
        while index < characters.count, characters[index].isWhitespace { index += 1 }
        let start = index
        guard index < characters.count else { return (.end, start) }
        let character = characters[index]
        switch character {
        case "'", "\"": return (.string(try string(character)), start)
        case "%":
            let kind = index + 1 < characters.count ? characters[index + 1] : " "
            guard kind == "@" || kind == "K" else {
                throw problem("after % comes @ or K", at: start)
            }
            index += 2
            return (kind == "@" ? .argument : .keyArgument, start)
        case "$":
            index += 1
            return (.variable(try name(start)), start)
        default: break
        }
        if character.isNumber || isMinus(character) { return (.number(number()), start) }
        if character.isLetter || character == "_" || character == "@" || character == "#" {
            return (.word(path()), start)
        }
        return (.symbol(try symbol(start)), start)
    }

    private func isMinus(_ character: Character) -> Bool {
        character == "-" && index + 1 < characters.count && characters[index + 1].isNumber
    }

    private mutating func string(_ quote: Character) throws -> String {
        let start = index
        index += 1
        var result = ""
        while index < characters.count, characters[index] != quote {
            if characters[index] == "\\", index + 1 < characters.count {
                index += 1
                switch characters[index] {
                case "n": result.append("\n")
                case "t": result.append("\t")
                default: result.append(characters[index])
                }
            } else {
                result.append(characters[index])
            }
            index += 1
        }
        guard index < characters.count else {
            throw problem("the text that begins here has no end", at: start)
        }
        index += 1
        return result
    }

    private mutating func number() -> String {
        var result = String(characters[index])
        index += 1
        while index < characters.count {
            let character = characters[index]
            let isSign = (character == "-" || character == "+") && result.last?.lowercased() == "e"
            guard character.isNumber || character == "." || character.lowercased() == "e" || isSign
            else { break }
            result.append(character)
            index += 1
        }
        return result
    }

    private mutating func name(_ start: Int) throws -> String {
        let name = path()
        guard !name.isEmpty else { throw problem("after $ comes a name", at: start) }
        return name
    }

    /// Names with dots between them; `\u{60}a name\u{60}` is not needed: `%K` takes any.
    private mutating func path() -> String {
        var result = ""
        while index < characters.count {
            let character = characters[index]
            guard character.isLetter || character.isNumber || "_.@#".contains(character) else {
                break
            }
            result.append(character)
            index += 1
        }
        return result
    }

    private mutating func symbol(_ start: Int) throws -> String {
        let two = String(characters[index..<min(index + 2, characters.count)])
        if ["==", "!=", "<>", "<=", ">=", "=<", "=>", "&&", "||"].contains(two) {
            index += 2
            return two
        }
        let one = String(characters[index])
        guard "=<>!(){}[],.".contains(one) else {
            throw problem("“\(one)” is not expected here", at: start)
        }
        index += 1
        return one
    }

    func problem(_ reason: String, at place: Int) -> ObjectError {
        let mark = String(repeating: " ", count: place) + "^"
        return ObjectError(
            .invalidPredicate, "at character \(place + 1): \(reason)\n\(text)\n\(mark)")
    }
}

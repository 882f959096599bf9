import Logging
import Yams

/// One node of a YAML file, with the file's name, the node's key and its line for messages.
///
/// Every throwing member throws ``ConfigurationFault`` when the node is not what it reads.
struct YAMLReader {
    private let file: String
    /// The key whose value the node is, or is an element of; nil at the root.
    private let key: String?
    private let node: Node

    /// Parses a file.
    ///
    /// - Throws: ``ConfigurationFault`` for text that is not YAML. An empty file is an empty
    ///   mapping.
    init(file: String, text: String) throws {
        do {
            self.init(file: file, key: nil, node: try Yams.compose(yaml: text) ?? Node(""))
        } catch let error as YamlError {
            throw Self.explain(error, in: file)
        } catch {
            throw ConfigurationFault(in: file, "not YAML: \(error)")
        }
    }

    private init(file: String, key: String?, node: Node) {
        self.file = file
        self.key = key
        self.node = node
    }

    private static func explain(_ error: YamlError, in file: String) -> ConfigurationFault {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ConfigurationFault(in: file, line: mark.line, "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            let keys = duplicates.joined(separator: ", ")
            return ConfigurationFault(
                in: file, line: context.mark.line, "duplicate key '\(keys)'")
        default: return ConfigurationFault(in: file, "not YAML")
        }
    }

    func fault(_ reason: String) -> ConfigurationFault {
        ConfigurationFault(in: file, line: node.mark?.line, reason)
    }

    /// `FILE:LINE`
    var place: String { file + (node.mark.map { ":\($0.line)" } ?? "") }

    /// Where each option in the mapping and in those below it is, by name. Lists are one option.
    func places(below parent: String = "") -> [String: String] {
        guard let mapping = node.mapping else { return [:] }
        var places: [String: String] = [:]
        for (key, value) in mapping {
            guard let word = key.string else { continue }
            let name = parent.isEmpty ? word : "\(parent).\(word)"
            let reader = YAMLReader(file: file, key: word, node: value)
            if value.mapping != nil {
                places.merge(reader.places(below: name)) { $1 }
            } else {
                places[name] = YAMLReader(file: file, key: word, node: key).place
            }
        }
        return places
    }

    /// - Parameter parent: the option that the key is in (``ConfigurationKey/names(below:)``).
    func unknown(_ key: String, at value: YAMLReader, below parent: String) -> ConfigurationFault {
        unknown(key, at: value, known: ConfigurationKey.names(below: parent))
    }

    func unknown(_ key: String, at value: YAMLReader, known: [String]) -> ConfigurationFault {
        let near = Spelling.nearest(to: key, among: known).map { "did you mean '\($0)'? " } ?? ""
        return value.fault(
            "unknown key '\(key)'; \(near)known keys: " + known.joined(separator: ", "))
    }

    /// - Parameter expected: what the node has to be, as in "a list".
    func unexpected(_ expected: String) -> ConfigurationFault {
        let found = node.scalar.map { $0.string.isEmpty ? "nothing" : "'\($0.string)'" }
        let place = key.map { "the key '\($0)'" } ?? "the file"
        return fault("\(place) needs \(expected)" + (found.map { ", not \($0)" } ?? ""))
    }

    /// Calls `body` with each key and value of a mapping.
    func members(_ body: (String, YAMLReader) throws -> Void) throws {
        if node.scalar?.string == "" { return }
        guard let mapping = node.mapping else { throw unexpected("keys and values") }
        for (key, value) in mapping {
            guard let name = key.string else {
                throw YAMLReader(file: file, key: nil, node: key).fault("a key has to be a word")
            }
            try body(name, YAMLReader(file: file, key: name, node: value))
        }
    }

    func list<Element>(_ element: (YAMLReader) throws -> Element) throws -> [Element] {
        guard let sequence = node.sequence else { throw unexpected("a list") }
        return try sequence.map { try element(YAMLReader(file: file, key: key, node: $0)) }
    }

    func string() throws -> String {
        guard let text = node.scalar?.string, !text.isEmpty else {
            throw unexpected("text")
        }
        return text
    }

    func isWord(_ word: String) -> Bool { node.scalar?.string == word }

    func bool() throws -> Bool {
        guard let value = node.bool else { throw unexpected("true or false") }
        return value
    }

    func integer(_ range: ClosedRange<Int>) throws -> Int {
        guard let value = node.int, range.contains(value) else {
            throw unexpected("a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return value
    }

    /// `30d`, `12h`, `45m`, `10s`.
    func duration() throws -> Duration {
        let seconds: [Character: Int] = ["d": 86_400, "h": 3_600, "m": 60, "s": 1]
        guard let (count, unit) = counted(seconds), count > 0 else {
            throw unexpected("a time as in 30d, 12h, 45m or 10s")
        }
        return .seconds(count * unit)
    }

    /// `500MB`, `2GB`, `100KB`: a thousand bytes are a KB.
    func byteCount() throws -> Int64 {
        let text = node.scalar?.string ?? ""
        let units: [Character: Int] = ["K": 1_000, "M": 1_000_000, "G": 1_000_000_000]
        guard text.hasSuffix("B"), let (count, unit) = Self.counted(text.dropLast(), in: units),
            count > 0
        else {
            throw unexpected("a size as in 500MB or 2GB")
        }
        return Int64(count * unit)
    }

    private func counted(_ units: [Character: Int]) -> (Int, Int)? {
        Self.counted((node.scalar?.string ?? "")[...], in: units)
    }

    /// A number below a million and its unit.
    private static func counted(
        _ text: Substring, in units: [Character: Int]
    ) -> (Int, Int)? {
        guard let last = text.last, let unit = units[last], let count = Int(text.dropLast()),
            0..<1_000_000 ~= count
        else { return nil }
        return (count, unit)
    }

    func choice<Value>(_ choices: [String: Value]) throws -> Value {
        guard let value = choices[node.scalar?.string ?? ""] else {
            throw unexpected(oneOf: choices.keys.sorted())
        }
        return value
    }

    private func unexpected(oneOf words: [String]) -> ConfigurationFault {
        let fault = unexpected("one of " + words.joined(separator: ", "))
        guard let word = node.scalar?.string, let near = Spelling.nearest(to: word, among: words)
        else { return fault }
        return self.fault("\(fault.reason); did you mean '\(near)'?")
    }

    func absolutePath() throws -> String {
        let path = try string()
        guard path.hasPrefix("/") else {
            throw unexpected("an absolute path")
        }
        return path
    }

    /// The path, when the node is text; nil otherwise.
    func pathAlone() throws -> String? { node.scalar == nil ? nil : try absolutePath() }

    /// An octal file mode: `0660` or `"660"`.
    func mode() throws -> UInt32 {
        guard let text = node.scalar?.string, let mode = UInt32(text, radix: 8), mode <= 0o777
        else {
            throw unexpected("a file mode as in 0660")
        }
        return mode
    }

    /// A port of this machine.
    func loopback() throws -> MetricsOptions.Loopback {
        guard let address = MetricsOptions.Loopback(node.scalar?.string ?? "") else {
            throw unexpected(
                "an address of this machine with a port as in 127.0.0.1:9186 (metrics have no "
                    + "password)")
        }
        return address
    }

    func logLevel() throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: node.scalar?.string ?? "") else {
            throw unexpected(oneOf: Logger.Level.allCases.map(\.rawValue))
        }
        return level
    }
}

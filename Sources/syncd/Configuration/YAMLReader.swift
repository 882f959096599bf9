import Logging
import Yams

/// One node of a YAML file, with the file's name and the node's line for messages.
struct YAMLReader {
    private let file: String
    private let node: Node

    /// Parses a file.
    ///
    /// - Throws: ``ConfigurationFault`` for what is no YAML. An empty file is an empty mapping.
    init(file: String, text: String) throws {
        do {
            self.init(file, try Yams.compose(yaml: text) ?? Node(""))
        } catch let error as YamlError {
            throw Self.explain(error, file)
        } catch {
            throw ConfigurationFault(file, "it is not YAML: \(error)")
        }
    }

    private init(_ file: String, _ node: Node) {
        self.file = file
        self.node = node
    }

    private static func explain(_ error: YamlError, _ file: String) -> ConfigurationFault {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ConfigurationFault(file, line: mark.line, "it is not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            let keys = duplicates.joined(separator: ", ")
            return ConfigurationFault(
                file, line: context.mark.line, "the key '\(keys)' stands twice")
        default: return ConfigurationFault(file, "it is not YAML")
        }
    }

    func fault(_ reason: String) -> ConfigurationFault {
        ConfigurationFault(file, line: node.mark?.line, reason)
    }

    func unknown(_ key: String, _ value: YAMLReader, known: [String]) -> ConfigurationFault {
        value.fault("unknown key '\(key)'; known are: " + known.joined(separator: ", "))
    }

    /// Calls `body` with each key and value of a mapping.
    func members(_ body: (String, YAMLReader) throws -> Void) throws {
        if node.scalar?.string == "" { return }
        guard let mapping = node.mapping else { throw fault("keys and values are expected here") }
        for (key, value) in mapping {
            guard let name = key.string else {
                throw YAMLReader(file, key).fault("a key has to be a word")
            }
            try body(name, YAMLReader(file, value))
        }
    }

    func list<Element>(_ element: (YAMLReader) throws -> Element) throws -> [Element] {
        guard let sequence = node.sequence else { throw fault("a list is expected here") }
        return try sequence.map { try element(YAMLReader(file, $0)) }
    }

    func string() throws -> String {
        guard let text = node.scalar?.string, !text.isEmpty else {
            throw fault("text is expected here")
        }
        return text
    }

    func bool() throws -> Bool {
        guard let value = node.bool else { throw fault("true or false is expected here") }
        return value
    }

    func integer(_ range: ClosedRange<Int>) throws -> Int {
        guard let value = node.int, range.contains(value) else {
            throw fault("a number from \(range.lowerBound) to \(range.upperBound) is expected here")
        }
        return value
    }

    /// `30d`, `12h`, `45m`, `10s`.
    func duration() throws -> Duration {
        let seconds: [Character: Int] = ["d": 86_400, "h": 3_600, "m": 60, "s": 1]
        guard let (count, unit) = counted(seconds), count > 0 else {
            throw fault("a time is expected here, as in 30d, 12h, 45m or 10s")
        }
        return .seconds(count * unit)
    }

    /// `500MB`, `2GB`, `100KB`: a thousand bytes are a KB.
    func byteCount() throws -> Int64 {
        let text = node.scalar?.string ?? ""
        let units: [Character: Int] = ["K": 1_000, "M": 1_000_000, "G": 1_000_000_000]
        guard text.hasSuffix("B"), let (count, unit) = Self.counted(text.dropLast(), units),
            count > 0
        else {
            throw fault("a size is expected here, as in 500MB or 2GB")
        }
        return Int64(count * unit)
    }

    private func counted(_ units: [Character: Int]) -> (Int, Int)? {
        Self.counted((node.scalar?.string ?? "")[...], units)
    }

    /// A number below a million and its unit.
    private static func counted(
        _ text: Substring, _ units: [Character: Int]
    ) -> (Int, Int)? {
        guard let last = text.last, let unit = units[last], let count = Int(text.dropLast()),
            0..<1_000_000 ~= count
        else { return nil }
        return (count, unit)
    }

    func choice<Value>(_ choices: [String: Value]) throws -> Value {
        guard let value = choices[node.scalar?.string ?? ""] else {
            throw fault("one of \(choices.keys.sorted().joined(separator: ", ")) is expected here")
        }
        return value
    }

    func absolutePath() throws -> String {
        let path = try string()
        guard path.hasPrefix("/") else {
            throw fault("'\(path)' is not an absolute path")
        }
        return path
    }

    /// The path, when the node is a mere path.
    func pathAlone() throws -> String? { node.scalar == nil ? nil : try absolutePath() }

    /// An octal file mode: `0660` or `"660"`.
    func mode() throws -> UInt32 {
        guard let text = node.scalar?.string, let mode = UInt32(text, radix: 8), mode <= 0o777
        else {
            throw fault("a file mode is expected here, as in 0660")
        }
        return mode
    }

    func logLevel() throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: node.scalar?.string ?? "") else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw fault("one of \(names) is expected here")
        }
        return level
    }
}

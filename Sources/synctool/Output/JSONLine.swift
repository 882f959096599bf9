import Varlink

extension Terminal {
    /// Writes one JSON object as one line.
    func json(_ object: JSONObject) throws { try line(object.description) }

    /// Writes JSON that is encoded already as one line.
    func json(_ bytes: [UInt8]) throws { try line(String(decoding: bytes, as: UTF8.self)) }
}

/// Numbers with their nouns.
enum Plural {
    static func text(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}

extension JSONValue {
    /// The text, or `null`.
    static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
}

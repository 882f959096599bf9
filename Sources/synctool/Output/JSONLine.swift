import Varlink

extension Terminal {
    /// Writes one JSON object as one line.
    ///
    /// - Throws: ``OutputClosed``.
    func json(_ object: JSONObject) throws { try raw(Printable.json(object.description)) }

    /// Writes encoded JSON as one line.
    ///
    /// - Throws: ``OutputClosed``.
    func json(_ bytes: [UInt8]) throws {
        try raw(Printable.json(String(decoding: bytes, as: UTF8.self)))
    }
}

extension JSONValue {
    /// The text, or `null`.
    static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
}

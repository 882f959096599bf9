import SyncValues

/// A policy that JSON and command lines write as one word, or as a word and a replica.
package protocol NamedPolicy: Codable, LosslessStringConvertible {
    init?(name: String, replica: ReplicaID?)
    var name: (word: String, replica: ReplicaID?) { get }
}

extension NamedPolicy {
    /// Reads ``description``; nil for other words.
    public init?(_ description: String) {
        let words = description.split(separator: " ").map(String.init)
        let replica = words.count == 2 ? ReplicaID(words[1]) : nil
        guard words.count == 1 || replica != nil else { return nil }
        self.init(name: words.first ?? "", replica: replica)
    }

    /// One word, or a word and 32 hexadecimal digits.
    public var description: String {
        let (word, replica) = name
        return replica.map { "\(word) \($0)" } ?? word
    }

    /// - Throws: `DecodingError` for text that names no policy.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let policy = Self(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "\(text) is no policy")
        }
        self = policy
    }

    /// Writes ``description``.
    /// - Throws: what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

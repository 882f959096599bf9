import SyncValues

/// The name of a key, which does not reveal it: eight bytes that are derived from the key.
package struct KeyID: Sendable, Hashable {
    /// The length of a name.
    package static let byteCount = 8

    /// The name's bytes.
    package let bytes: [UInt8]

    /// A name of stored bytes.
    /// - Parameter bytes: exactly eight; nil otherwise.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Reads 16 hexadecimal digits; nil for anything else.
    package init?(_ text: String) {
        guard let bytes = Hex.decode(text) else { return nil }
        self.init(bytes: bytes)
    }
}

extension KeyID: CustomStringConvertible {
    /// 16 hexadecimal digits.
    package var description: String { Hex.encode(bytes) }
}

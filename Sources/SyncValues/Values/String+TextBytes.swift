import Foundation

/// Text as SQLite stores it: bytes that are UTF-8 only as far as programs kept to that.
///
/// A byte that is not part of valid UTF-8 becomes the code point U+10FF00 plus the byte, so that no
/// two texts become the same string and each is written back as it was. A text that contains one of
/// the code points U+10FF80 to U+10FFFF itself (private use, the last ones of Unicode) has its four
/// bytes as four such code points. Everything else is the text itself.
extension String {
    /// The text of these bytes.
    ///
    /// - Complexity: O(bytes)
    package init(textBytes bytes: UnsafeBufferPointer<UInt8>) {
        if !Self.mayHoldMark(bytes), let text = String(validating: bytes, as: UTF8.self) {
            self = text
            return
        }
        // Appended to a string, each scalar would copy it.
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        var index = 0
        while index < bytes.count {
            let rest = UnsafeBufferPointer(rebasing: bytes[index...])
            let length = Self.validLength(rest)
            let character = UnsafeBufferPointer(rebasing: rest.prefix(length))
            if length > 0, !Self.mayHoldMark(character) {
                text.append(contentsOf: character)
                index += length
            } else {
                let marked = rest.prefix(Swift.max(1, length))
                for byte in marked { text.append(contentsOf: Self.mark(byte)) }
                index += marked.count
            }
        }
        self.init(decoding: text, as: UTF8.self)
    }

    /// The same, for bytes that are not in place.
    @usableFromInline package init(textBytes bytes: some Collection<UInt8>) {
        let text = bytes.withContiguousStorageIfAvailable { String(textBytes: $0) }
        self = text ?? Array(bytes).withUnsafeBufferPointer { String(textBytes: $0) }
    }

    /// Calls `body` with the bytes that SQLite has for this text.
    ///
    /// - Complexity: O(bytes)
    package mutating func withTextBytes<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result {
        let direct = try withUTF8 { bytes in
            Self.mayHoldMark(bytes) ? nil : Optional(try body(bytes))
        }
        if let direct { return direct }
        return try markedBytes.withUnsafeBufferPointer(body)
    }

    /// The bytes that SQLite has for this text.
    @usableFromInline package var textBytes: [UInt8] {
        var text = self
        return text.withTextBytes { Array($0) }
    }

    private var markedBytes: [UInt8] {
        var bytes: [UInt8] = []
        for scalar in unicodeScalars {
            if let byte = scalar.notTextByte {
                bytes.append(byte)
            } else {
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        return bytes
    }

    /// The code point U+10FF00 plus `byte`, in UTF-8.
    private static func mark(_ byte: UInt8) -> [UInt8] {
        [0xf4, 0x8f, 0xbc | byte >> 6, 0x80 | byte & 0x3f]
    }

    /// Whether U+10FF80 or a later code point may be in it: all begin with the byte F4, which
    /// begins no other text in use.
    private static func mayHoldMark(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let start = bytes.baseAddress else { return false }
        var rest = start
        while let found = memchr(rest, 0xf4, bytes.count - (rest - start)) {
            let place = UnsafeRawPointer(found) - UnsafeRawPointer(start)
            guard place + 2 < bytes.count else { return false }
            if bytes[place + 1] == 0x8f, bytes[place + 2] >= 0xbe { return true }
            rest = start + place + 1
        }
        return false
    }

    /// How many bytes the first character takes by its first byte, when they are all there; 0 for a
    /// byte that begins none.
    private static func validLength(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let length =
            switch bytes[0] {
            case 0..<0x80: 1
            case 0xc2..<0xe0: 2
            case 0xe0..<0xf0: 3
            case 0xf0..<0xf5: 4
            default: 0
            }
        guard length <= bytes.count else { return 0 }
        let character = UnsafeBufferPointer(rebasing: bytes.prefix(length))
        return String(validating: character, as: UTF8.self) == nil ? 0 : length
    }
}

extension Unicode.Scalar {
    private static let marks: ClosedRange<UInt32> = 0x10_ff80...0x10_ffff

    /// The byte that the code point is written for; nil: it is a character.
    package var notTextByte: UInt8? {
        Self.marks ~= value ? UInt8(truncatingIfNeeded: value) : nil
    }
}

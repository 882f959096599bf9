/// A strict JSON parser (RFC 8259) for untrusted bytes.
///
/// For any bytes the result is a value or a `JSONError`; memory stays within a constant factor of
/// the input. Refused beyond the grammar: text that is not UTF-8, half a surrogate pair, a repeated
/// name in one object, numbers beyond a double, too deep nesting, too many bytes.
public struct JSONParser {
    /// Larger input is refused.
    public struct Limits: Sendable, Hashable {
        /// The maximum depth of arrays and objects within each other.
        public var depthMax: Int

        /// The maximum size of the text in bytes.
        public var bytesMax: Int

        /// Makes limits; the default is what a protocol message may need.
        public init(depthMax: Int = 64, bytesMax: Int = 16 << 20) {
            self.depthMax = depthMax
            self.bytesMax = bytesMax
        }
    }

    // Invariant: 0 <= position <= bytes.count. Only `bytes` that the caller keeps alive is read.
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depthLeft: Int

    /// Parses `bytes`: one value, with white space around it.
    ///
    /// - Throws: `JSONError`.
    /// - Complexity: O(bytes).
    public static func parse(
        _ bytes: some Collection<UInt8>, limits: Limits = Limits()
    ) throws(JSONError) -> JSONValue {
        let result = bytes.withContiguousStorageIfAvailable { Self.result(of: $0, limits: limits) }
        if let result { return try result.get() }
        return try Array(bytes).withUnsafeBufferPointer { Self.result(of: $0, limits: limits) }
            .get()
    }

    /// Parses the text of one value.
    ///
    /// - Throws: `JSONError`.
    /// - Complexity: O(length of the text).
    public static func parse(
        _ text: String, limits: Limits = Limits()
    ) throws(JSONError) -> JSONValue {
        var text = text
        return try text.withUTF8 { Self.result(of: $0, limits: limits) }.get()
    }

    private static func result(
        of bytes: UnsafeBufferPointer<UInt8>, limits: Limits
    ) -> Result<JSONValue, JSONError> {
        Result { () throws(JSONError) in
            guard bytes.count <= limits.bytesMax else {
                throw JSONError("more than \(limits.bytesMax) bytes", offset: limits.bytesMax)
            }
            var parser = JSONParser(bytes: bytes, depthLeft: limits.depthMax)
            let value = try parser.value()
            parser.skipSpace()
            guard parser.position == bytes.count else {
                throw JSONError("something follows the value", offset: parser.position)
            }
            return value
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, depthLeft: Int) {
        self.bytes = bytes
        self.depthLeft = depthLeft
    }
}

extension JSONParser {
    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func error(_ reason: String) -> JSONError {
        JSONError(position < bytes.count ? reason : "the text ends too early", offset: position)
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONError) -> JSONValue {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try word("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try word("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try word("null")
            return .null
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        let matches = word.withUTF8Buffer { expected in
            bytes.count - position >= expected.count
                && bytes[position..<position + expected.count].elementsEqual(expected)
        }
        guard matches else { throw error("no JSON value") }
        position += word.utf8CodeUnitCount
    }

    private mutating func descend() throws(JSONError) {
        guard depthLeft > 0 else { throw error("nested too deep") }
        depthLeft -= 1
        position += 1
        skipSpace()
    }

    private mutating func array() throws(JSONError) -> [JSONValue] {
        try descend()
        defer { depthLeft += 1 }
        var elements: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return elements }
        while true {
            elements.append(try value())
            skipSpace()
            if take(UInt8(ascii: "]")) { return elements }
            guard take(UInt8(ascii: ",")) else { throw error("expected , or ]") }
        }
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        try descend()
        defer { depthLeft += 1 }
        var members: [JSONObject.Member] = []
        var names = UniqueNames()
        if take(UInt8(ascii: "}")) { return JSONObject() }
        while true {
            skipSpace()
            let start = position
            guard next == UInt8(ascii: "\"") else { throw error("expected a member's name") }
            let name = try string()
            guard names.insert(name, after: members) else {
                throw JSONError("the name \(name.debugDescription) is repeated", offset: start)
            }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw error("expected :") }
            members.append(.init(name: name, value: try value()))
            skipSpace()
            if take(UInt8(ascii: "}")) { return JSONObject(members: members) }
            guard take(UInt8(ascii: ",")) else { throw error("expected , or }") }
        }
    }

    /// Finds a repeated name: by comparison in a small object, by hashing in a large one, because
    /// 100,000 members must not cost quadratic time.
    private struct UniqueNames {
        private static let linearMax = 12
        private var hashed: Set<String> = []

        mutating func insert(_ name: String, after members: [JSONObject.Member]) -> Bool {
            if members.count < Self.linearMax {
                return !members.contains { $0.name == name }
            }
            if hashed.isEmpty { hashed = Set(members.map(\.name)) }
            return hashed.insert(name).inserted
        }
    }
}

extension JSONParser {
    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        let isNegative = take(UInt8(ascii: "-"))
        guard let first = next, isDigit(first) else { throw error("no JSON value") }
        var integer: Int64? = 0
        repeat {
            let digit = Int64(bytes[position] - UInt8(ascii: "0"))
            integer = Self.append(digit, to: integer, isNegative: isNegative)
            position += 1
        } while next.map(isDigit) == true && first != UInt8(ascii: "0")
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if let byte = next, byte | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        if isInteger, let integer { return .integer(integer) }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let double = Double(text), double.isFinite else {
            throw JSONError("a number beyond the range of doubles", offset: start)
        }
        return .double(double)
    }

    private static func append(_ digit: Int64, to value: Int64?, isNegative: Bool) -> Int64? {
        guard let value else { return nil }
        let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) =
            isNegative
            ? tenfold.subtractingReportingOverflow(digit) : tenfold.addingReportingOverflow(digit)
        return overflow || carry ? nil : sum
    }

    private mutating func digits() throws(JSONError) {
        guard let byte = next, isDigit(byte) else { throw error("expected a digit") }
        while let byte = next, isDigit(byte) { position += 1 }
    }

    private func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}

extension JSONParser {
    private mutating func string() throws(JSONError) -> String {
        let start = position + 1
        position = start
        while let byte = next {
            if byte == UInt8(ascii: "\"") {
                let text = try utf8(bytes[start..<position], at: start)
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try stringWithEscapes(from: start) }
            guard byte >= 0x20 else { throw error("a control character in a string") }
            position += 1
        }
        throw error("the text ends within a string")
    }

    private func utf8(
        _ slice: some Sequence<UInt8>, at offset: Int
    ) throws(JSONError) -> String {
        guard let text = String(validating: slice, as: UTF8.self) else {
            throw JSONError("a string is not UTF-8", offset: offset)
        }
        return text
    }

    /// A string with escapes: `position` is at the first backslash.
    private mutating func stringWithEscapes(from start: Int) throws(JSONError) -> String {
        var unescaped = Array(bytes[start..<position])
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                let text = try utf8(unescaped, at: start)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &unescaped)
            case ..<0x20:
                throw error("a control character in a string")
            default:
                unescaped.append(byte)
                position += 1
            }
        }
        throw error("the text ends within a string")
    }

    private mutating func escape(into unescaped: inout [UInt8]) throws(JSONError) {
        guard let byte = next else { throw error("the text ends within a string") }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"):
            position += 1
            unescaped.append(contentsOf: Array(String(Character(try scalar())).utf8))
            return
        default: throw error("an unknown escape")
        }
        position += 1
    }

    /// Reads the four digits behind `\u`, and the second half when they are a high surrogate.
    private mutating func scalar() throws(JSONError) -> Unicode.Scalar {
        let start = position
        let high = try fourHexDigits()
        if let scalar = Unicode.Scalar(high) { return scalar }
        if high < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
            let low = try fourHexDigits()
            if (0xDC00...0xDFFF).contains(low),
                let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
            {
                return scalar
            }
        }
        throw JSONError("half a surrogate pair", offset: start)
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Self.hexDigit(byte) else {
                throw error("expected four hexadecimal digits")
            }
            value = value << 4 | digit
            position += 1
        }
        return value
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

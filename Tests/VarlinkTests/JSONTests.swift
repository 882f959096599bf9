import Foundation
import SyncTesting
import Testing
import Varlink

@Suite("JSON")
struct JSONTests {
    @Test(
        arguments: [
            ("null", .null), (" true ", true), ("false", false), ("0", 0), ("-0", 0), ("-12", -12),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)), ("1.0", .double(1)),
            ("-1.5e-3", .double(-0.0015)), ("1E2", .double(100)), ("\"\"", ""),
            ("\"a\\u00e9\\n\\/\\\"\"", "a\u{E9}\n/\""), ("\"\\ud83d\\ude00\"", "\u{1F600}"),
            ("\"\\u0000\"", "\0"), ("[]", []), ("[1,[2],{}]", [1, [2], [:]]),
            ("{\"b\":1 , \"a\":[null]}", ["b": 1, "a": [nil]]),
        ] as [(String, JSONValue)])
    func reads(text: String, value: JSONValue) throws {
        #expect(try JSONParser.parse(text) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "truex", "01", "-", "+1", "1.", ".5", "1e", "1e+", "1e999", "-1e999", "NaN",
        "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"",
        "\"\n\"", "[", "[1", "[1,", "[1,]", "[1 2]", "{", "{\"a\"", "{\"a\":", "{\"a\":1,}",
        "{a:1}",
        "{\"a\":1,\"a\":2}", "1 2", "\u{FEFF}1", "'a'", "{\"a\" 1}", "]",
    ])
    func refuses(text: String) {
        #expect(throws: JSONError.self) { try JSONParser.parse(text) }
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], [0x22, 0xC3, 0x22],
            [0x22, 0x5C, 0x6E, 0xC3, 0x22],
        ] as [[UInt8]])
    func refusesWhatIsNotUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONParser.parse(bytes) }
    }

    @Test func tellsWhere() {
        #expect(throws: JSONError("expected , or ]", offset: 3)) { try JSONParser.parse("[1 2]") }
    }

    @Test func boundsDepthAndBytes() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try JSONParser.parse(nested(64))
        #expect(throws: JSONError.self) { try JSONParser.parse(nested(65)) }
        #expect(throws: JSONError.self) { try JSONParser.parse(nested(1_000_000)) }
        let limits = JSONParser.Limits(bytesMax: 3)
        _ = try JSONParser.parse("123", limits: limits)
        #expect(throws: JSONError.self) { try JSONParser.parse("1234", limits: limits) }
    }

    @Test func keepsTheOrderOfMembersAndComparesWithoutIt() throws {
        let value = try JSONParser.parse("{\"z\":1,\"a\":2}")
        #expect(value.description == "{\"z\":1,\"a\":2}")
        let other = try JSONParser.parse("{\"a\":2,\"z\":1}")
        #expect(value == other)
        #expect(value.hashValue == other.hashValue)
        #expect(value != ["a": 2])
    }

    @Test func largeObjectsCostNoQuadraticTime() throws {
        let members = (0..<100_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        let value = try JSONParser.parse("{\(members)}")
        #expect(value.object?.count == 100_000)
        #expect(throws: JSONError.self) { try JSONParser.parse("{\(members),\"k7\":0}") }
    }

    @Test func readsWhatItWrites() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<2_000 {
            let value = JSONValue.random(depth: 4, using: &random)
            let text = value.description
            #expect(try JSONParser.parse(text) == value, "\(seed): \(text)")
        }
    }

    @Test func foundationAgrees() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<300 {
            let text = JSONValue.array([.random(depth: 3, using: &random)]).description
            let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8))
            let again = try JSONSerialization.data(withJSONObject: parsed)
            // Foundation turns 1.0 into 1: compare what both make of the numbers as doubles.
            let ours = try JSONParser.parse(text).withDoubles
            #expect(
                try JSONParser.parse(Array(again)).withDoubles == ours,
                "\(seed): \(text)")
        }
    }

    @Test func survivesDamage() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<500 {
            var bytes = Array(JSONValue.random(depth: 3, using: &random).description.utf8)
            for length in 0..<min(bytes.count, 40) { _ = try? JSONParser.parse(bytes[..<length]) }
            for _ in 0..<8 where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &random)] =
                    UInt8.random(in: 0...255, using: &random)
                if let value = try? JSONParser.parse(bytes) {
                    #expect(try JSONParser.parse(value.description) == value, "\(seed)")
                }
            }
        }
    }

    @Test func writesPieceByPiece() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("a")
        writer.beginArray()
        writer.write(integer: .min)
        writer.write(encoded: Array("[1,2]".utf8))
        writer.beginObject()
        writer.endObject()
        writer.endArray()
        writer.name("b")
        writer.write(string: "\u{1}\u{7F}\t\"")
        writer.name("c")
        writer.write(double: .nan)
        writer.endObject()
        let expected =
            #"{"a":[-9223372036854775808,[1,2],{}],"b":"\u0001"# + "\u{7F}" + #"\t\"","c":null}"#
        #expect(writer.text == expected)
    }
}

extension JSONValue {
    static func random(depth: Int, using random: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .integer(Int64(truncatingIfNeeded: random.next()))
        case 3: return .integer(.random(in: -9...9, using: &random))
        case 4:
            let double = Double(bitPattern: random.next())
            return .double(double.isFinite ? double : 0.5)
        case 5: return .string(.random(using: &random))
        case 6:
            return .array(
                (0..<Int.random(in: 0...5, using: &random)).map { _ in
                    .random(depth: depth - 1, using: &random)
                })
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0...16, using: &random) {
                object[.random(using: &random)] = .random(depth: depth - 1, using: &random)
            }
            return .object(object)
        }
    }

    var withDoubles: JSONValue {
        switch self {
        case .integer(let value): return .double(Double(value))
        case .array(let elements): return .array(elements.map(\.withDoubles))
        case .object(let object):
            var result = JSONObject()
            for member in object.members { result[member.name] = member.value.withDoubles }
            return .object(result)
        default: return self
        }
    }
}

extension String {
    static func random(using random: inout SeededRandom) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x1F, 0x20...0x7E, 0x20...0x7E, 0xA0...0x2FF, 0x10000...0x10FFFF,
        ]
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let range = ranges[Int.random(in: ranges.indices, using: &random)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) {
                text.append(scalar)
            }
        }
        return String(text)
    }
}

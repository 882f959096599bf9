import SyncTesting
import Testing

@testable import SyncValues

@Suite struct PercentEscapeTests {
    @Test func separatorsAndControlCharactersAreEscaped() {
        #expect(PercentEscape.encode("a/b,c#d?e%f g\n") == "a%2Fb%2Cc%23d%3Fe%25f%20g%0A")
        #expect(PercentEscape.encode("Grüße_世界-1.5") == "Grüße_世界-1.5")
        #expect(PercentEscape.encode("") == "")
    }

    @Test func anyTextIsReadBack() {
        let seed = TestSeed.drawn()
        var random = seed.random
        let ranges: [ClosedRange<UInt32>] = [
            0...0x7f, 0x20...0x2f, 0xa0...0x2ff, 0x1_f600...0x1_f64f,
        ]
        for _ in 0..<500 {
            var text = ""
            for _ in 0..<random.below(12) {
                let range = random.pick(ranges)
                let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random))
                if let scalar { text.unicodeScalars.append(scalar) }
            }
            let escaped = PercentEscape.encode(text)
            #expect(PercentEscape.decode(escaped) == text, "\(seed): \(text)")
            #expect(!escaped.contains { "/,#?".contains($0) }, "\(seed): \(escaped)")
        }
    }

    /// Cut short, and no hexadecimal digits.
    @Test(arguments: ["%", "a%4", "%zz"])
    func nonsenseIsRefused(text: String) {
        #expect(PercentEscape.decode(text) == nil)
    }

    /// The text of SQLite may have any bytes.
    @Test(arguments: ["%FF", "%C3", "%C3%28", "a%80b", "%F4%8F%BE%80", "%ED%A0%80", "%F4"])
    func bytesThatAreNotTextStayWhatTheyAre(text: String) throws {
        let decoded = try #require(PercentEscape.decode(text))
        #expect(PercentEscape.encode(decoded) == text.replacing("%28", with: "("))
        #expect(
            decoded.textBytes.count == (text.utf8.count { $0 == UInt8(ascii: "%") })
                + (text.hasPrefix("a") ? 2 : 0))
    }

    @Test func lowercaseDigitsAreRead() {
        #expect(PercentEscape.decode("a%2fb") == "a/b")
    }
}

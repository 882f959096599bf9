import SyncTesting
import Testing

@testable import SyncValues

/// Text of SQLite that is not UTF-8.
@Suite struct TextBytesTests {
    /// Any bytes come back as they were, and no two give the same string.
    @Test func everyTextIsExact() {
        let seed = TestSeed.drawn()
        var random = seed.random
        let pieces: [[UInt8]] = [
            [0x61], [0], [0xc3, 0xa4], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0x80],
            [0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4],
            [0xf4, 0x8f, 0xbe, 0x80], [0xf4, 0x8f, 0xbf, 0xbf], [0xf4, 0x8f, 0xbe],
            [0xf4, 0x8f, 0xbd, 0xbf], [0xf5, 0x80, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80],
        ]
        var seen: [[UInt32]: [UInt8]] = [:]
        for _ in 0..<3_000 {
            var bytes: [UInt8] = []
            for _ in 0..<random.below(6) { bytes += random.pick(pieces) }
            let text = String(textBytes: bytes)
            #expect(text.textBytes == bytes, "\(seed): \(bytes)")
            let scalars = text.unicodeScalars.map(\.value)
            #expect(seen.updateValue(bytes, forKey: scalars) ?? bytes == bytes, "\(seed)")
            var writer = ByteWriter()
            writer.append(.text(text))
            var reader = ByteReader(writer.bytes)
            #expect((try? reader.value()) == .text(text), "\(seed): \(bytes)")
            let key = ObjectKey(.text(text))
            #expect(ObjectKey(text: key.description) == key, "\(seed): \(key)")
        }
    }

    /// Such a text must not take more than a moment: a daemon reads it for all its stores.
    @Test(.timeLimit(.minutes(1))) func largeTextTakesAMoment() {
        var random = TestSeed(3).random
        let bytes = (0..<500_000).map { _ in UInt8(random.below(256)) }
        let text = String(textBytes: bytes)
        #expect(text.textBytes == bytes)
        let key = ObjectKey(.text(text))
        #expect(ObjectKey(text: key.description) == key)
    }

    @Test func validTextIsItself() {
        for text in ["", "a", "Grüße_世界", "\u{0}", "\u{10ff7f}", "\u{100000}", "\u{fffd}"] {
            #expect(
                String(textBytes: Array(text.utf8)).unicodeScalars.elementsEqual(
                    text.unicodeScalars))
            #expect(text.textBytes == Array(text.utf8))
        }
        #expect(String(textBytes: [0x61, 0x80]).unicodeScalars.map(\.value) == [0x61, 0x10ff80])
    }
}

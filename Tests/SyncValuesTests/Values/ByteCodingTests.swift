import SyncTesting
import Testing

@testable import SyncValues

@Suite struct ByteCodingTests {
    @Test func valuesAreReadBack() throws {
        let values: [Value] = [
            .null, 0, -1, .integer(.max), .integer(.min), 0.1, -0.0, .real(.infinity), "", "ü",
            .blob([]),
            .blob([1, 2, 3]),
        ]
        var writer = ByteWriter()
        for value in values { writer.append(value) }
        var reader = ByteReader(writer.bytes)
        for value in values { #expect(try reader.value() == value) }
        #expect(reader.isAtEnd)
    }

    @Test func everyCutAndEveryByteIsAnErrorOrAValue() {
        var writer = ByteWriter()
        for value: Value in ["some text", 123_456_789, .blob([1, 2, 3]), 2.5] {
            writer.append(value)
        }
        for count in writer.bytes.indices {
            var reader = ByteReader(Array(writer.bytes.prefix(count)))
            while !reader.isAtEnd, (try? reader.value()) != nil {}
        }
        // A trap, not an expectation, fails this: a fixed seed finds the same each time.
        var generator = TestSeed.fixed(1).random
        for _ in 0..<2000 {
            var reader = ByteReader((0..<20).map { _ in .random(in: 0...255, using: &generator) })
            while !reader.isAtEnd, (try? reader.value()) != nil {}
        }
    }

    @Test func hugeCountsAreRefused() {
        var reader = ByteReader([4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])
        #expect(throws: SyncError(.badData, "")) { try reader.value() }
    }
}

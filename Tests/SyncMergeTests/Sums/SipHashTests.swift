import Testing

@testable import SyncMerge

@Suite("SipHash")
struct SipHashTests {
    private let key: [UInt8] = Array(0..<16)

    private func bytes(_ number: UInt128) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    /// https://github.com/veorq/SipHash, `vectors.h`: the input is 0, 1, 2, …
    @Test(
        "the published vectors of SipHash-2-4 with 128 bits",
        arguments: [
            (0, "a3817f04ba25a8e66df67214c7550293"), (1, "da87c1d86b99af44347659119b22fc45"),
            (2, "8177228da4a45dc7fca38bdef60affe4"), (63, "5150d1772f50834a503e069a973fbd7c"),
        ])
    func published(length: Int, expected: String) {
        let hash = SipHash(key: key, compressionRounds: 2, finalRounds: 4)
        let found = hash.hash((0..<length).map { UInt8($0) })
        #expect(
            bytes(found).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == expected)
    }

    /// The vectors of Rust's SipHasher128, which has these rounds.
    @Test(
        "the vectors of SipHash-1-3 with 128 bits",
        arguments: [
            (0, "e77ebcb22788a5befd62db6add303001"), (1, "fc6f370460d3eda85e0573cc2b2ff063"),
        ])
    func rounds(length: Int, expected: String) {
        let found = SipHash(key: key).hash((0..<length).map { UInt8($0) })
        #expect(
            bytes(found).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == expected)
    }

    @Test("each byte and the length count, whatever the length is")
    func everyByte() {
        let hash = SipHash(key: key)
        for length in 1..<40 {
            let input = [UInt8](repeating: 0, count: length)
            var seen: Set<UInt128> = [hash.hash(input), hash.hash(input + [0])]
            for place in 0..<length {
                var other = input
                other[place] = 1
                seen.insert(hash.hash(other))
            }
            #expect(seen.count == length + 2)
        }
    }
}

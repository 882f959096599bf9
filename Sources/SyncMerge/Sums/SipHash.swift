/// SipHash with 128 bits of output (Aumasson and Bernstein, https://cr.yp.to/siphash).
///
/// A keyed hash for data that is not hostile: an author of facts can choose them so that sums
/// agree. 1 and 3 rounds are what hash tables use it with.
package struct SipHash: Sendable {
    private let key: (low: UInt64, high: UInt64)
    private let compressionRounds: Int
    private let finalRounds: Int

    /// A hash with a key.
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - compressionRounds: for each eight bytes.
    ///   - finalRounds: for each half of the output.
    package init(key: [UInt8], compressionRounds: Int = 1, finalRounds: Int = 3) {
        precondition(key.count == 16, "a key of SipHash has 16 bytes")
        self.key = key.withUnsafeBytes { bytes in
            (
                UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        self.compressionRounds = compressionRounds
        self.finalRounds = finalRounds
    }

    /// The hash of some bytes. Its first eight bytes are the lower half.
    /// - Complexity: O(bytes)
    package func hash(_ bytes: [UInt8]) -> UInt128 { bytes.withUnsafeBytes { hash($0) } }

    /// The hash of some bytes.
    /// - Complexity: O(bytes)
    package func hash(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
        var state = State(key)
        let whole = bytes.count & ~7
        for start in stride(from: 0, to: whole, by: 8) {
            let word = bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
            state.compress(UInt64(littleEndian: word), rounds: compressionRounds)
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for place in whole..<bytes.count {
            last |= UInt64(bytes[place]) << UInt64(8 * (place - whole))
        }
        state.compress(last, rounds: compressionRounds)
        let low = state.finish(with: (2, 0xEE), rounds: finalRounds)
        let high = state.finish(with: (1, 0xDD), rounds: finalRounds)
        return UInt128(high) << 64 | UInt128(low)
    }

    private struct State {
        private var v0: UInt64
        private var v1: UInt64
        private var v2: UInt64
        private var v3: UInt64

        init(_ key: (low: UInt64, high: UInt64)) {
            v0 = key.low ^ 0x736f_6d65_7073_6575
            v1 = key.high ^ 0x646f_7261_6e64_6f6d ^ 0xEE
            v2 = key.low ^ 0x6c79_6765_6e65_7261
            v3 = key.high ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        private mutating func round() {
            v0 &+= v1
            v1 = v1 << 13 | v1 >> 51
            v1 ^= v0
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v3
            v3 = v3 << 16 | v3 >> 48
            v3 ^= v2
            v0 &+= v3
            v3 = v3 << 21 | v3 >> 43
            v3 ^= v0
            v2 &+= v1
            v1 = v1 << 17 | v1 >> 47
            v1 ^= v2
            v2 = v2 << 32 | v2 >> 32
        }

        @inline(__always)
        mutating func compress(_ word: UInt64, rounds: Int) {
            v3 ^= word
            for _ in 0..<rounds { round() }
            v0 ^= word
        }

        /// One half of the output.
        mutating func finish(with mark: (word: Int, value: UInt64), rounds: Int) -> UInt64 {
            if mark.word == 1 { v1 ^= mark.value } else { v2 ^= mark.value }
            for _ in 0..<rounds { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }
    }
}

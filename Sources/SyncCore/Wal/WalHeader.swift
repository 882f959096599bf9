/// The header of a wal-index: what the last commit, or the last reset of the WAL, published.
///
/// Layout: https://www.sqlite.org/walformat.html §2.1, in the byte order of the machine.
package struct WalHeader: Sendable, Equatable {
    /// Bytes of one copy of the header; the wal-index begins with two copies.
    static let byteCount = 48

    /// Grows by one with each commit; a recovery of the WAL starts it at 0 again.
    package let changeCount: UInt32
    /// The last valid frame; 0: the WAL is empty.
    package let frameCount: UInt32
    /// Bytes of a page.
    package let pageSize: Int
    /// The checksum words of the WAL are big-endian.
    let isBigEndian: Bool
    /// The running checksum at the last valid frame.
    let checksum: WalChecksum
    /// Distinguishes this generation of the WAL from earlier ones.
    let generation: WalGeneration

    /// The header in `bytes`; nil when it was never written, or not to its end.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        func word(_ offset: Int) -> UInt32 { bytes.load(fromByteOffset: offset, as: UInt32.self) }
        var own = WalChecksum(first: 0, second: 0)
        own.add(UnsafeRawBufferPointer(rebasing: bytes[0..<40]), swapped: false)
        guard bytes[12] == 1, own == WalChecksum(first: word(40), second: word(44)) else {
            return nil
        }
        changeCount = word(8)
        let size = Int(bytes.load(fromByteOffset: 14, as: UInt16.self))
        pageSize = size == 1 ? 65_536 : size
        isBigEndian = bytes[13] != 0
        frameCount = word(16)
        checksum = WalChecksum(first: word(24), second: word(28))
        generation = WalGeneration(first: word(32).bigEndian, second: word(36).bigEndian)
    }
}

/// The two salts of a WAL: every reset gives it others.
struct WalGeneration: Sendable, Equatable {
    let first: UInt32
    let second: UInt32
}

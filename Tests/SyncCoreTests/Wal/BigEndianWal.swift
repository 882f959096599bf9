@testable import SyncCore

/// Rewrites the checksums of a WAL as a machine of the other byte order would have made them.
enum BigEndianWal {
    static func convert(_ wal: inout [UInt8], pageSize: Int) {
        wal[3] |= 1
        var checksum = WalChecksum(first: 0, second: 0)
        wal.withUnsafeMutableBytes { bytes in
            func put(_ value: UInt32, _ offset: Int) {
                bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
            }
            checksum.add(UnsafeRawBufferPointer(rebasing: bytes[0..<24]), swapped: true)
            put(checksum.first, 24)
            put(checksum.second, 28)
            var offset = 32
            while offset + 24 + pageSize <= bytes.count {
                checksum.add(
                    UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 8]), swapped: true)
                checksum.add(
                    UnsafeRawBufferPointer(rebasing: bytes[offset + 24..<offset + 24 + pageSize]),
                    swapped: true)
                put(checksum.first, offset + 16)
                put(checksum.second, offset + 20)
                offset += 24 + pageSize
            }
        }
    }
}

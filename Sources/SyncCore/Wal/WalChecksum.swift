/// The running checksum of a WAL: https://www.sqlite.org/fileformat2.html#checksum_algorithm
struct WalChecksum: Sendable, Equatable {
    private(set) var first: UInt32
    private(set) var second: UInt32

    init(first: UInt32, second: UInt32) {
        self.first = first
        self.second = second
    }

    /// Adds `bytes`, a multiple of eight. `swapped`: the words are not in the machine's byte order.
    mutating func add(_ bytes: UnsafeRawBufferPointer, swapped: Bool) {
        guard let base = bytes.baseAddress else { return }
        var s0 = first
        var s1 = second
        var offset = 0
        while offset < bytes.count {
            let a = base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let b = base.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            s0 &+= (swapped ? a.byteSwapped : a) &+ s1
            s1 &+= (swapped ? b.byteSwapped : b) &+ s0
            offset += 8
        }
        first = s0
        second = s1
    }
}

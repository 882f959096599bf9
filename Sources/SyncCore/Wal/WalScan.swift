import SyncStorage

/// The commits found in a WAL, with the ends of the table leaves that each of them wrote.
///
/// Invariants: `commits` are in the order in which they were made; `ends` of a commit are those of
/// its own frames.
struct WalScan {
    /// One commit.
    package struct Commit {
        /// Its last frame.
        let frame: UInt32
        /// The running checksum at that frame.
        let checksum: WalChecksum
        /// Its leaf ends.
        let ends: Range<Int>
    }

    private(set) var commits: [Commit] = []
    private(set) var ends: [LeafEnd] = []
    private(set) var records: [UInt8] = []
    private let filter: LeafEnd.Filter

    /// What one read brings at most.
    private static let readBytesMax = 131_072
    private static let fileHeaderBytes = 32
    private static let frameHeaderBytes = 24

    init(_ filter: LeafEnd.Filter) { self.filter = filter }

    /// Forgets the last commit.
    mutating func removeLast() { commits.removeLast() }

    /// Adds the commits after `position` in its own generation up to frame `last`, which the
    /// wal-index vouches for. Returns false when the frames are not there any more.
    mutating func add(_ file: SQLiteFile, after position: WalPosition, to last: UInt32) -> Bool {
        add(file, after: position, to: last, proven: false) == last
    }

    /// Adds the commits after `position` whose frames are still in the file, though its generation
    /// has ended. The chain of checksums proves each of them.
    mutating func addRest(_ file: SQLiteFile, after position: WalPosition) {
        _ = add(file, after: position, to: .max, proven: true)
    }

    /// Returns the last frame that was read.
    private mutating func add(
        _ file: SQLiteFile, after position: WalPosition, to last: UInt32, proven: Bool
    ) -> UInt32 {
        // The wal-index of a WAL that was always empty knows of no page size.
        guard position.pageSize > 0 else { return position.frame }
        let frameBytes = Self.frameHeaderBytes + position.pageSize
        let framesMax = max(1, Self.readBytesMax / frameBytes)
        var framesAtOnce = min(framesMax, 8)
        var frame = position.frame
        var checksum = position.checksum
        var firstEnd = ends.count
        while frame < last {
            let count = min(Int(last - frame), framesAtOnce)
            let done = withUnsafeTemporaryAllocation(
                byteCount: count * frameBytes, alignment: 8
            ) { buffer in
                let offset = Int64(Self.fileHeaderBytes) + Int64(frame) * Int64(frameBytes)
                guard file.readAvailable(into: buffer, at: offset) else { return false }
                for index in 0..<count {
                    let bytes = UnsafeRawBufferPointer(
                        rebasing: buffer[index * frameBytes..<(index + 1) * frameBytes])
                    guard
                        let next = Self.checksum(
                            of: bytes, after: checksum, position, proven: proven)
                    else { return false }
                    checksum = next
                    frame += 1
                    note(bytes, frame: frame, checksum: checksum, firstEnd: &firstEnd)
                }
                return true
            }
            guard done else { break }
            framesAtOnce = min(framesMax, framesAtOnce * 2)
        }
        ends.removeSubrange(firstEnd...)
        return frame
    }

    /// The running checksum at a frame; nil when it is no frame of the generation, or, if it must
    /// be proven, not the one that follows.
    private static func checksum(
        of frame: UnsafeRawBufferPointer, after checksum: WalChecksum, _ position: WalPosition,
        proven: Bool
    ) -> WalChecksum? {
        let generation = WalGeneration(
            first: RecordReader.word32(frame, at: 8), second: RecordReader.word32(frame, at: 12))
        guard generation == position.generation else { return nil }
        let stored = WalChecksum(
            first: RecordReader.word32(frame, at: 16), second: RecordReader.word32(frame, at: 20))
        guard proven else { return stored }
        let isNative = position.isBigEndian == (Int(1).bigEndian == 1)
        var computed = checksum
        computed.add(UnsafeRawBufferPointer(rebasing: frame[..<8]), swapped: !isNative)
        computed.add(
            UnsafeRawBufferPointer(rebasing: frame[frameHeaderBytes...]), swapped: !isNative)
        return computed == stored ? stored : nil
    }

    private mutating func note(
        _ bytes: UnsafeRawBufferPointer, frame: UInt32, checksum: WalChecksum,
        firstEnd: inout Int
    ) {
        let page = UnsafeRawBufferPointer(rebasing: bytes[Self.frameHeaderBytes...])
        // Page 1 holds the schema, and begins with the file's header.
        if RecordReader.word32(bytes, at: 0) != 1, let end = LeafEnd.find(in: page, filter) {
            let start = records.count
            records.append(contentsOf: end.record)
            ends.append(LeafEnd(seq: end.seq, record: start..<records.count))
        }
        if RecordReader.word32(bytes, at: 4) != 0 {
            commits.append(Commit(frame: frame, checksum: checksum, ends: firstEnd..<ends.count))
            firstEnd = ends.count
        }
    }
}

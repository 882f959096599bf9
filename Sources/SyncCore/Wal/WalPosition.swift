/// A commit in a WAL up to which all boundaries are known.
///
/// Used to find the commits after it, even when the WAL was reset since and they are behind the
/// frames of the next generation: the running checksum proves which frame follows which.
struct WalPosition: Sendable, Equatable {
    /// The generation of the WAL that the commit is in.
    let generation: WalGeneration
    /// The commit's last frame, counted from 1; 0: the beginning of the generation.
    let frame: UInt32
    /// The running checksum at that frame.
    let checksum: WalChecksum
    /// What the wal-index counted when the commit was published.
    let changeCount: UInt32
    let pageSize: Int
    let isBigEndian: Bool

    /// The last commit that `header` knows of.
    init(_ header: WalHeader) {
        self.init(
            header, frame: header.frameCount, checksum: header.checksum,
            changeCount: header.changeCount)
    }

    /// A commit in the generation of `header`.
    init(_ header: WalHeader, frame: UInt32, checksum: WalChecksum, changeCount: UInt32) {
        generation = header.generation
        pageSize = header.pageSize
        isBigEndian = header.isBigEndian
        self.frame = frame
        self.checksum = checksum
        self.changeCount = changeCount
    }

    /// A later commit in the same generation.
    func advanced(to frame: UInt32, checksum: WalChecksum, changeCount: UInt32) -> WalPosition {
        WalPosition(
            generation: generation, frame: frame, checksum: checksum, changeCount: changeCount,
            pageSize: pageSize, isBigEndian: isBigEndian)
    }

    private init(
        generation: WalGeneration, frame: UInt32, checksum: WalChecksum, changeCount: UInt32,
        pageSize: Int, isBigEndian: Bool
    ) {
        self.generation = generation
        self.frame = frame
        self.checksum = checksum
        self.changeCount = changeCount
        self.pageSize = pageSize
        self.isBigEndian = isBigEndian
    }
}

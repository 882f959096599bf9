import SyncStorage

/// The pages of a database as the commit left them that `header` is of.
///
/// To be used within a read transaction of the connection whose snapshot that commit is: then no
/// checkpoint changes the pages of the database file that are read here. Confined to the
/// connection's queue.
struct WalSnapshot {
    let header: WalHeader
    private let index: WalIndex
    private let wal: SQLiteFile
    private let database: SQLiteFile

    private static let fileHeaderBytes: Int64 = 32
    private static let frameHeaderBytes: Int64 = 24

    /// - Returns: nil when the commit is not the one at `position`.
    init?(_ connection: OpaquePointer, index: WalIndex, at position: WalPosition) {
        guard let header = index.header(), header.pageSize > 0,
            header.generation == position.generation, header.frameCount == position.frame,
            let wal = SQLiteFile.journal(connection),
            let database = SQLiteFile.database(connection)
        else { return nil }
        self.header = header
        self.index = index
        self.wal = wal
        self.database = database
    }

    /// Fills `buffer`, which is as long as a page; false when the page cannot be found.
    /// - Complexity: O(frames), without reading them.
    func read(_ page: UInt32, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        let size = Int64(header.pageSize)
        switch index.lastFrame(of: page, upTo: header.frameCount) {
        case .unknown: return false
        case .none: return page > 0 && database.read(into: buffer, at: Int64(page - 1) * size)
        case .frame(let frame):
            let offset =
                Self.fileHeaderBytes + Int64(frame - 1) * (size + Self.frameHeaderBytes)
                + Self.frameHeaderBytes
            return wal.read(into: buffer, at: offset)
        }
    }
}

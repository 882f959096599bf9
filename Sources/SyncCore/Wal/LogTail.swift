import SyncStorage

/// The last leaf of the log's b-tree as of one commit, from which the rows of small commits after
/// it are read out of their frames, without a statement of SQL.
///
/// Why that is the same as what SQL would read. SQLite takes a page from the free list, adds one to
/// the file or gives one back only by writing page 1, which holds the list and the size of the
/// file; and it changes which page is where in a b-tree only by writing the interior page above. So
/// as long as no commit since writes page 1 or an interior page on the way to the last leaf, that
/// page is the log's last leaf, and every row that is appended is on it. The schema is the same,
/// too: its version is on page 1. And `digested`, which tells what others have moved to the history
/// tables, is the same while the one leaf of `syncd_meta` is not written. A commit that does any of
/// this, and every other one that is unusual, is left to SQL, and the tail is found again.
///
/// Interior pages of any table are taken for such a page: a leaf that is filled up may hand rows to
/// the one before it.
///
/// Invariants: `end` is the last row of the log at `position`, and all rows up to it are told.
struct LogTail {
    /// The commit.
    private(set) var position: WalPosition
    private(set) var end: Int64
    private let leaf: UInt32
    /// Of `syncd_meta`.
    private let settings: UInt32

    /// The root pages of a schema.
    struct Roots {
        let schema: Int64
        let log: UInt32
        let settings: UInt32

        /// - Returns: nil when a table is missing, or text is not stored as UTF-8.
        /// - Throws: the error of SQLite.
        init?(_ connection: OpaquePointer, schema: Int64, log: String, settings: String) throws {
            func root(_ table: String) throws -> UInt32? {
                let select = try Statement(
                    "SELECT rootpage FROM main.sqlite_schema WHERE type = 'table' AND name = "
                        + SQLName.literal(table), on: connection)
                return try select.step() ? UInt32(exactly: select.integer(0)) : nil
            }
            let encoding = try Statement("PRAGMA main.encoding", on: connection)
            guard try encoding.step(), encoding.text(0) == "UTF-8", let log = try root(log),
                let settings = try root(settings)
            else { return nil }
            self.schema = schema
            self.log = log
            self.settings = settings
        }
    }

    /// What one commit appended.
    struct Commit {
        /// Ascending, not empty.
        let rows: [LogRow]
    }

    private static let depthMax = 20
    /// More frames are left to SQL: a burst is read with less work there.
    private static let framesMax: UInt32 = 24
    private static let fileHeaderBytes = 32
    private static let frameHeaderBytes = 24

    /// - Parameter end: the last row of the log in `snapshot`.
    /// - Returns: nil when the tables do not look as they should.
    init?(_ snapshot: WalSnapshot, position: WalPosition, roots: Roots, end: Int64) {
        let found: UInt32? = withUnsafeTemporaryAllocation(
            byteCount: snapshot.header.pageSize, alignment: 8
        ) { buffer in
            let page = UnsafeRawBufferPointer(buffer)
            guard roots.settings > 1, snapshot.read(roots.settings, into: buffer),
                page[0] == 0x0a
            else { return nil }
            var number = roots.log
            for _ in 0..<Self.depthMax {
                guard number > 1, snapshot.read(number, into: buffer) else { return nil }
                switch page[0] {
                case 0x05: number = RecordReader.word32(page, at: 8)
                case 0x0d: return LeafEnd.lastRow(of: page) == end ? number : nil
                default: return nil
                }
            }
            return nil
        }
        guard let found else { return nil }
        leaf = found
        settings = roots.settings
        self.position = position
        self.end = end
    }

    /// The commits after `position` up to `header`, of those that appended to the log; nil, and
    /// nothing changes, when they are to be read by SQL.
    ///
    /// - Parameters:
    ///   - isLast: whether a row is the one at `end`, as it was when it was read: proof that the
    ///     file is the one that it was.
    ///   - isPlain: whether a new row can be taken; asked in order.
    mutating func advance(
        to header: WalHeader, of index: WalIndex, file: SQLiteFile,
        after isLast: (LogRow) -> Bool, taking isPlain: (LogRow) -> Bool
    ) -> [Commit]? {
        guard header.generation == position.generation, header.frameCount > position.frame,
            header.frameCount - position.frame <= Self.framesMax
        else { return nil }
        let frameBytes = Self.frameHeaderBytes + header.pageSize
        let count = Int(header.frameCount - position.frame)
        var next = self
        let commits: [Commit]? = withUnsafeTemporaryAllocation(
            byteCount: count * frameBytes, alignment: 8
        ) { buffer in
            let offset = Int64(Self.fileHeaderBytes) + Int64(position.frame) * Int64(frameBytes)
            // Frames that were published change only after a reset, which publishes another
            // generation before.
            guard file.read(into: buffer, at: offset),
                index.header()?.generation == header.generation
            else { return nil }
            return next.take(
                UnsafeRawBufferPointer(buffer), frameBytes: frameBytes, isLast, isPlain)
        }
        guard let commits, next.position == WalPosition(header) else { return nil }
        self = next
        return commits
    }

    /// Goes through whole commits, and moves `position` and `end` past them.
    private mutating func take(
        _ frames: UnsafeRawBufferPointer, frameBytes: Int, _ isLast: (LogRow) -> Bool,
        _ isPlain: (LogRow) -> Bool
    ) -> [Commit]? {
        var commits: [Commit] = []
        var newest: UnsafeRawBufferPointer?
        let first = position.frame
        for start in stride(from: 0, to: frames.count, by: frameBytes) {
            let frame = UnsafeRawBufferPointer(rebasing: frames[start..<start + frameBytes])
            let page = UnsafeRawBufferPointer(rebasing: frame[Self.frameHeaderBytes...])
            let number = RecordReader.word32(frame, at: 0)
            guard word(frame, 8) == position.generation.first,
                word(frame, 12) == position.generation.second, number > 1, number != settings,
                page[0] != 0x05
            else { return nil }
            if number == leaf { newest = page }
            guard word(frame, 4) != 0 else { continue }
            if let page = newest {
                guard let (previous, rows) = LogCell.rows(of: page, after: end),
                    previous.seq == end,
                    commits.last.map({ $0.rows.last == previous }) ?? isLast(previous),
                    rows.allSatisfy(isPlain)
                else { return nil }
                if let last = rows.last {
                    commits.append(Commit(rows: rows))
                    end = last.seq
                }
            }
            newest = nil
            position = position.advanced(
                to: first + UInt32(start / frameBytes) + 1,
                checksum: WalChecksum(first: word(frame, 16), second: word(frame, 20)),
                changeCount: position.changeCount &+ 1)
        }
        return commits
    }

    private func word(_ frame: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        RecordReader.word32(frame, at: offset)
    }
}

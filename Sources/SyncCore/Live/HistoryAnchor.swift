import SyncStorage
import SyncValues

/// The last log row that was read: proof that the file still holds the history that it held then.
///
/// `.restore`, `cp` over the file and other ways to put an older copy in its place keep the file's
/// identity. The history of the copy may be shorter than what was read; when programs have written
/// to it since, it may be as long or longer. Rows of the log never change: the row has to be there
/// as it was, or have been digested.
///
/// Within the transaction that the connection is in; confined to its queue.
struct HistoryAnchor {
    /// A row of the log, without its values.
    struct Row: Equatable {
        let seq: Int64
        let op: Int64
        let mask: Int64
        let time: Double

        /// It stands for a row that was deleted: ``LogTable/keepNumberSQL``.
        var keepsNumber: Bool { op == 0 && mask == 1 }

        /// A hash of it, negative (FNV-1a over its words), for the journals of daemons.
        var mark: Int64 {
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for word in [seq, op, mask].map(UInt64.init(bitPattern:)) + [time.bitPattern] {
                for shift in stride(from: 0, to: 64, by: 8) {
                    hash = (hash ^ (word >> shift & 0xff)) &* 0x100_0000_01b3
                }
            }
            return Int64(bitPattern: hash | 1 << 63)
        }
    }

    private let select: Statement
    private let metadata: Metadata
    private(set) var row: Row?

    init(_ connection: OpaquePointer, metadata: Metadata) throws {
        select = try Statement(LogTable.anchorSQL, on: connection)
        self.metadata = metadata
    }

    /// Whether the row is there as it was, or was digested and deleted since.
    func holds() throws -> Bool {
        guard let row else { return true }
        let present = try read(row.seq)
        if present == row { return true }
        // Only what the history tables have is deleted from the log.
        guard present?.keepsNumber ?? true else { return false }
        return try metadata.position(.digested) >= row.seq
    }

    /// Takes the row `seq` for the last one that was read.
    mutating func move(to seq: Int64) throws {
        if row?.seq != seq { row = try read(seq) }
    }

    /// Takes a row that was read for the last one.
    mutating func move(to row: Row) { self.row = row }

    /// Goes back to what it was.
    mutating func restore(_ row: Row?) { self.row = row }

    /// The row of a number; nil: there is none.
    func read(_ seq: Int64) throws -> Row? {
        select.bind(seq, at: 1)
        defer { select.reset() }
        guard try select.step() else { return nil }
        return Row(
            seq: seq, op: select.integer(0), mask: select.integer(1), time: select.real(2))
    }
}

import CLinux
import Glibc
import SyncStorage
import SyncValues

/// A view of a store's wal-index that any thread may read.
///
/// The memory is a second mapping of the pages that SQLite shares with all processes. It stays
/// readable after the connection it came from is closed (and then shows nothing new), and no file
/// is opened or closed for it: that would drop SQLite's locks. Where the file is truncated, a
/// process that prepared for it (``DatabaseOpener/surviveTruncation()``) reads zeros, which are no
/// header.
///
/// `@unchecked Sendable`: the memory is never written here; each load of it is atomic.
public final class WalIndex: @unchecked Sendable {
    private let memory: UnsafeMutableRawPointer
    /// Where SQLite has mapped the same pages; not read here.
    private let source: UnsafeRawPointer
    private let byteCount: Int
    /// What was at the path of the `-shm` when this was made. It may have been another file than
    /// the mapped one already: ``SideFiles`` tells.
    let file: FileIdentity?

    /// The wal-index of the store that `connection` (`sqlite3 *`) has open; nil when the store is
    /// not in WAL mode. To be called on the connection's queue.
    ///
    /// - Throws: the error of SQLite when the store cannot be read, or when no memory can be
    ///   mapped.
    public init?(_ connection: OpaquePointer) throws {
        // Reading opens the WAL where there is one; only then is there a wal-index to map.
        let mode = try Statement("PRAGMA main.journal_mode", on: connection)
        let version = try Statement("PRAGMA main.schema_version", on: connection)
        try version.run()
        guard try mode.step() else { return nil }
        let name = mode.text(0)
        mode.reset()
        guard name == "wal" else { return nil }
        byteCount = Self.regionBytes
        guard let region = SQLiteFile.database(connection)?.mapWalIndex(),
            let memory = syncd_share_mapping(region, byteCount)
        else {
            throw SyncError(.refused, "the wal-index cannot be mapped (locking_mode=EXCLUSIVE?)")
        }
        file = FileIdentity(path: SQLiteFile.path(of: connection) + "-shm")
        self.memory = memory
        source = UnsafeRawPointer(region)
    }

    /// The `-shm` was truncated: this view, or SQLite's own one, has shown memory of this process
    /// alone since then, also when the file has its size again.
    package var isTruncated: Bool {
        syncd_mapping_is_truncated(memory) != 0 || syncd_mapping_is_truncated(source) != 0
    }

    deinit { syncd_unshare_mapping(memory, byteCount) }

    /// What the last commit published: cheap enough to be polled, equal only when there was no
    /// commit in between.
    public var mark: Mark {
        Mark(
            changeCount: syncd_load_u32(memory + 8), first: syncd_load_u32(memory + 24),
            second: syncd_load_u32(memory + 28))
    }

    /// The number of commits modulo 2^32, and the checksum of the last frame: a recovery of the WAL
    /// sets the number back, the checksum differs even then.
    public struct Mark: Sendable, Equatable {
        let changeCount: UInt32
        package let first: UInt32
        package let second: UInt32
    }

    /// The header, or nil when a writer is in the middle of it, or died there.
    ///
    /// The writer fills the second copy first; the reader takes them in the other order, and
    /// believes what is the same in both and has the right checksum.
    package func header() -> WalHeader? {
        withUnsafeTemporaryAllocation(byteCount: 2 * WalHeader.byteCount, alignment: 8) { copy in
            for _ in 0..<Self.attemptsMax {
                for offset in stride(from: 0, to: copy.count, by: 4) {
                    copy.storeBytes(
                        of: syncd_load_u32(memory + offset), toByteOffset: offset, as: UInt32.self)
                }
                let first = UnsafeRawBufferPointer(rebasing: copy[..<WalHeader.byteCount])
                let second = UnsafeRawBufferPointer(rebasing: copy[WalHeader.byteCount...])
                if first.elementsEqual(second), let header = WalHeader(first) { return header }
                sched_yield()
            }
            return nil
        }
    }

    /// No checkpoint has begun since the WAL was last reset: the database file is as it was then.
    ///
    /// `nBackfill` and `nBackfillAttempted`; the second is stored before the first page is written.
    var isUntouchedByCheckpoints: Bool {
        syncd_load_u32(memory + 96) == 0 && syncd_load_u32(memory + 128) == 0
    }

    /// Where a page was last written.
    enum Place {
        case frame(UInt32)
        /// In the database file.
        case none
        /// There are more frames than this view shows.
        case unknown
    }

    /// The last frame of `page` up to frame `last`, of the generation that is published.
    /// - Complexity: O(frames)
    func lastFrame(of page: UInt32, upTo last: UInt32) -> Place {
        guard last <= Self.framesMax else { return .unknown }
        var frame = last
        while frame > 0 {
            let offset = Self.headerBytes + 4 * Int(frame - 1)
            if syncd_load_u32(memory + offset) == page { return .frame(frame) }
            frame -= 1
        }
        return .none
    }

    /// The first block: https://www.sqlite.org/walformat.html §2.2
    private static let regionBytes = 32_768
    private static let headerBytes = 136
    private static let framesMax: UInt32 = 4_062
    private static let attemptsMax = 100
}

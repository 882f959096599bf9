import Glibc
import SyncCore
import Synchronization

/// The ends of transactions that clients were sent and that the history tables do not hold yet.
///
/// The log alone does not say where one commit of a foreign writer ends; the WAL does, and the last
/// writer to close the database deletes it. A daemon that is killed in between would have to take
/// for one transaction what clients got as several, and would send them again what they had. So
/// each boundary is written here before a client is notified: one `write()` into the page cache,
/// which outlives the process. It does not outlive a power cut; the transactions since the last
/// digest may then come again as a part of a coalesced one.
///
/// Invariants: `entries` ascend, and are what the file holds behind its beginning or after it was
/// rewritten; what is at or before a digested number is of no use.
final class BoundaryJournal: Sendable {
    /// Number and exactness in one word: the number doubled, plus one when it is exact.
    private typealias Entry = Int64

    private struct State {
        var entries: [Entry] = []
        var descriptor: Int32 = -1
    }

    /// Beyond this many bytes the file is rewritten at a digest; below, it may keep old entries.
    private static let bytesMax = 64 << 10

    private let path: String
    private let state = Mutex(State())

    /// Opens or creates the file of a replica in its present epoch. A file that cannot be created
    /// is no reason to refuse the store: nothing is kept then.
    init(directory: String, of store: Store) {
        path = "\(directory)/\(store.replica)-\(store.epoch).boundaries"
        state.withLock { state in
            state.descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
            state.entries = Self.read(state.descriptor)
        }
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    /// What an earlier daemon wrote, oldest first.
    var boundaries: [Boundary] {
        state.withLock { state in
            state.entries.map { Boundary(last: $0 >> 1, isExact: $0 & 1 == 1) }
        }
    }

    /// Writes the boundaries of new transactions, before any client is notified of them.
    func append(_ boundaries: [Boundary]) {
        guard !boundaries.isEmpty else { return }
        let new = boundaries.map { $0.last << 1 | ($0.isExact ? 1 : 0) }
        state.withLock { state in
            let first = (state.entries.last ?? 0) >> 1
            let added = new.filter { $0 >> 1 > first }
            state.entries += added
            Self.write(added, to: state.descriptor)
        }
    }

    /// Removes the boundaries that the history tables hold by now.
    func forget(upTo number: Int64) {
        state.withLock { state in
            state.entries.removeAll { $0 >> 1 <= number }
            var status = stat()
            guard fstat(state.descriptor, &status) == 0, status.st_size > Self.bytesMax else {
                return
            }
            // Shortened first: what is lost if the process ends here is what a power cut loses.
            guard ftruncate(state.descriptor, 0) == 0 else { return }
            Self.write(state.entries, to: state.descriptor)
        }
    }

    /// Deletes the file: the store is not tracked any more.
    func remove() { unlink(path) }

    private static func read(_ descriptor: Int32) -> [Entry] {
        var entries: [Entry] = []
        var entry: Entry = 0
        var offset: off_t = 0
        let size = MemoryLayout<Entry>.size
        while pread(descriptor, &entry, size, offset) == size {
            // Numbers ascend: anything else is damage.
            if entry > entries.last ?? 0 { entries.append(entry) }
            offset += off_t(size)
        }
        return entries
    }

    private static func write(_ entries: [Entry], to descriptor: Int32) {
        guard !entries.isEmpty, descriptor >= 0 else { return }
        _ = entries.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }
}

import Glibc
import SyncValues
import Synchronization

/// The ends of transactions that readers were given and that the history tables do not hold yet:
/// a file of the daemon, which other readers of the store respect.
///
/// The log alone does not say where one commit of a foreign writer ends; the WAL does, and the last
/// writer to close the database deletes it. A reader that comes later would have to take for one
/// transaction what clients got as several, and would give them again what they had. So each
/// boundary is written here before a client is notified: one `write()` into the page cache, which
/// outlives the process. It does not outlive a power failure. What is left of the journal then, or
/// what a power failure took back from the database and not from the journal, is found when the
/// store is opened (``NamedJournals``).
///
/// The file has one word of 8 bytes in the machine's order for each boundary: its number doubled,
/// plus one when it is exact. Numbers ascend. A negative word follows the last boundary of each
/// write: a hash of the log row of that number, by which a reader sees that the database is not the
/// one of which it was told (an older copy was put in its place and has grown since).
///
/// Invariants: `entries` ascend, and are what the file holds behind its beginning or after it was
/// rewritten; what is at or before a digested number is of no use.
package final class BoundaryJournal: Sendable {
    private typealias Entry = Int64

    private struct State {
        var entries: [Entry] = []
        var descriptor: Int32 = -1
        var lastMark: Entry?
        var fault: String?
        var lastAttempt = ContinuousClock.now
    }

    /// How often a file that could not be written is tried again.
    private static let retryInterval = Duration.seconds(1)

    /// Beyond this many bytes the file is rewritten at a digest; below, it may keep old entries.
    private static let bytesMax = 64 << 10
    /// A file with more is none of a daemon: millions of commits that were not digested.
    private static let readBytesMax: off_t = 64 << 20

    /// The path of the file.
    package let path: String
    private let state = Mutex(State())

    /// Opens or creates the file of a replica in its present epoch. A file that cannot be created
    /// is no reason to refuse the store: nothing is kept then, and ``fault`` says why.
    package init(directory: String, replica: ReplicaID, epoch: Int64) {
        path = "\(directory)/" + Self.name(replica: replica, epoch: epoch)
        state.withLock { state in
            state.descriptor = Self.open(path)
            if state.descriptor < 0 { state.fault = Self.fault(at: path, errno) }
            let words = Self.words(state.descriptor)
            state.entries = Self.entries(words)
            state.lastMark = words.last.flatMap { $0 < 0 ? $0 : nil }
        }
    }

    private static func open(_ path: String) -> Int32 {
        Glibc.open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
    }

    private static func fault(at path: String, _ code: Int32) -> String {
        "the journal \(path) cannot be written: \(String(cString: strerror(code)))"
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    /// The name of the file of a replica in an epoch.
    static func name(replica: ReplicaID, epoch: Int64) -> String {
        "\(replica)-\(epoch).boundaries"
    }

    /// What an earlier daemon wrote, oldest first.
    package var boundaries: [Boundary] {
        state.withLock { $0.entries.map(Self.boundary) }
    }

    /// Why nothing can be recorded now; nil: it can. What is not recorded must not be told.
    package var fault: String? { state.withLock { $0.fault } }

    /// Writes the boundaries of new transactions, before any client is notified of them.
    ///
    /// - Parameter mark: a negative number that stands for the log row of the last boundary.
    /// - Returns: false when they could not be written: ``fault`` says why.
    package func append(_ boundaries: [Boundary], mark: Int64? = nil) -> Bool {
        guard !boundaries.isEmpty else { return fault == nil }
        let new = boundaries.map { $0.last << 1 | ($0.isExact ? 1 : 0) }
        return state.withLock { state in
            let first = (state.entries.last ?? 0) >> 1
            let added = new.filter { $0 >> 1 > first }
            guard !added.isEmpty else { return state.fault == nil }
            if state.fault == nil { write(added + [mark].compactMap(\.self), in: &state) }
            guard state.fault == nil else { return false }
            state.entries += added
            state.lastMark = mark
            return true
        }
    }

    /// Whether what is told can be recorded. A file that could not be written is tried again now
    /// and then, with a boundary that is of no use to readers.
    ///
    /// - Parameter digested: the history tables go up to this number.
    func canRecord(afterDigesting digested: Int64) -> Bool {
        state.withLock { state in
            guard state.fault != nil else { return true }
            guard state.lastAttempt.duration(to: .now) >= Self.retryInterval else { return false }
            state.lastAttempt = .now
            state.fault = nil
            if state.descriptor >= 0 { close(state.descriptor) }
            state.descriptor = Self.open(path)
            guard state.descriptor >= 0 else {
                state.fault = Self.fault(at: path, errno)
                return false
            }
            state.entries.removeAll { $0 >> 1 <= digested }
            let known = Self.entries(Self.words(state.descriptor)).last ?? 0
            let missing = [digested << 1] + state.entries
            write(missing.filter { $0 > known }, in: &state)
            return state.fault == nil
        }
    }

    /// Removes the boundaries that the history tables hold by now.
    package func forget(upTo number: Int64) {
        state.withLock { state in
            state.entries.removeAll { $0 >> 1 <= number }
            var status = stat()
            guard fstat(state.descriptor, &status) == 0, status.st_size > Self.bytesMax else {
                return
            }
            let isLocked = FileLock.take(state.descriptor, waitingFor: FileLock.recorderWait)
            defer { if isLocked { FileLock.release(state.descriptor) } }
            // Shortened first: what is lost if the process ends here is what a power cut loses.
            guard ftruncate(state.descriptor, 0) == 0 else { return }
            write(state.entries + [state.lastMark].compactMap(\.self), in: &state)
        }
    }

    /// Keeps others from digesting, until ``unlock()``: what is found and written here meanwhile is
    /// respected by them. Not waited for beyond ``FileLock/recorderWait``: another process must not
    /// be able to stop notices.
    func lock() {
        _ = state.withLock { FileLock.take($0.descriptor, waitingFor: FileLock.recorderWait) }
    }

    /// Ends what ``lock()`` began.
    func unlock() { state.withLock { FileLock.release($0.descriptor) } }

    /// Deletes the file: the store is not tracked any more.
    package func remove() { unlink(path) }

    // MARK: The file

    /// The boundaries in a journal file, oldest first.
    static func boundaries(in descriptor: Int32) -> [Boundary] {
        entries(words(descriptor)).map(boundary)
    }

    /// What marks the log rows of some of the boundaries, oldest first.
    static func marks(in descriptor: Int32) -> [(number: Int64, mark: Int64)] {
        let words = words(descriptor)
        return zip(words, words.dropFirst()).compactMap { entry, mark in
            entry > 0 && mark < 0 ? (entry >> 1, mark) : nil
        }
    }

    private static func boundary(_ entry: Entry) -> Boundary {
        Boundary(last: entry >> 1, isExact: entry & 1 == 1)
    }

    /// Numbers ascend: anything else is a mark, or damage.
    private static func entries(_ words: [Entry]) -> [Entry] {
        var entries: [Entry] = []
        for word in words where word > entries.last ?? 0 { entries.append(word) }
        return entries
    }

    private static func words(_ descriptor: Int32) -> [Entry] {
        var words: [Entry] = []
        var status = stat()
        // A process that can write a database can name journals to its readers.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= readBytesMax
        else { return [] }
        var buffer = [Entry](repeating: 0, count: 1_024)
        let size = MemoryLayout<Entry>.size
        var offset: off_t = 0
        while true {
            let count = buffer.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress, $0.count, offset)
            }
            guard count >= size else { return words }
            words += buffer.prefix(count / size)
            offset += off_t(count / size * size)
        }
    }

    /// Appends entries: all of them, or `state.fault` says why not.
    private func write(_ entries: [Entry], in state: inout State) {
        guard !entries.isEmpty else { return }
        var status = stat()
        // One that was deleted with the contents of the folder is read by nobody.
        guard fstat(state.descriptor, &status) == 0, status.st_nlink > 0 else {
            state.fault = Self.fault(at: path, ENOENT)
            return
        }
        let count = entries.withUnsafeBytes {
            Glibc.write(state.descriptor, $0.baseAddress, $0.count)
        }
        guard count != entries.count * MemoryLayout<Entry>.size else { return }
        state.fault = Self.fault(at: path, count < 0 ? errno : ENOSPC)
        state.lastAttempt = .now
        // Half an entry would make all later ones unreadable.
        _ = ftruncate(state.descriptor, status.st_size)
    }
}

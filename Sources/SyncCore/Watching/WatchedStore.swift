import SyncStorage

/// One store of a ``StoreWatcher``: its last known state, and when to check it again. Confined to
/// the watch thread.
///
/// Invariants:
/// - `mark` was read before the callback that it led to: a commit after it makes the next check
///   differ.
/// - While `mode` is `.polling` there is no watch on the -wal.
final class WatchedStore {
    /// How commits are noticed at present.
    enum Mode {
        /// By events of the -wal, each followed by the ladder of checks.
        case watching
        /// By a check each millisecond: a burst. Events would cost the writer a quarter of its
        /// speed.
        case polling
    }

    let id: StoreWatcher.WatchID
    let path: String
    /// The database's own folder and name: SQLite puts the -wal beside the file that a link leads
    /// to.
    let file: WatchedPath
    let onEvent: @Sendable (StoreEvent) -> Void
    var index: WalIndex?
    /// No connection has the store open; then `index` is nil.
    var isResting = false
    var mark: WalIndex.Mark?
    var identity: FileIdentity?
    var mode = Mode.watching
    /// The watches on the -wal, or in a rollback mode on the database and its -journal.
    var fileWatches: [Int32] = []
    var folderWatch: Int32?
    /// The system had no inotify watch left for it.
    var isUnwatched: Bool { folderWatch == nil || fileWatches.isEmpty }
    var ladder = RecheckLadder()
    private var tail = WalTail()
    /// When to check again, on the monotonic clock; nil: at the next safety check.
    var due: Int64?
    /// Events and commits since `windowStart`, for telling a burst.
    var eventCount = 0
    var commitCount = 0
    var windowStart: Int64 = 0
    private var stamp: FileStamp?

    init(
        _ id: StoreWatcher.WatchID, path: String, index: WalIndex?,
        onEvent: @escaping @Sendable (StoreEvent) -> Void
    ) {
        self.id = id
        self.path = path
        file = WatchedPath(path)
        self.index = index
        self.onEvent = onEvent
        identity = FileIdentity(path: path)
    }

    deinit { tail.close() }

    /// How many commits there were since the last call, as far as the wal-index says. In a rollback
    /// mode, 0: the file's stamp is noted instead.
    func takeNews() -> Int {
        guard let index else {
            stamp = FileStamp(path: path)
            return 0
        }
        let now = index.mark
        guard now != mark else { return 0 }
        defer { mark = now }
        guard let mark else { return 1 }
        return max(1, Int(Int32(bitPattern: now.changeCount &- mark.changeCount)))
    }

    /// Whether a commit that ``takeNews()`` did not count may be on its way: it was published
    /// since, or its frames are written. True also when it cannot be known.
    func mayExpectCommit() -> Bool {
        guard let header = index?.header(), header.changeCount == mark?.changeCount else {
            return true
        }
        return tail.hasUnpublishedFrame(after: header, path: file.path)
    }

    /// Whether the -wal has bytes: a resting store has none, or an empty one.
    var hasWrittenWal: Bool { (FileStamp(path: file.path + "-wal")?.length ?? 0) > 0 }

    /// Whether the -shm at the path is not the one that it was when the index was made. True once.
    func isForsaken() -> Bool {
        guard let index, FileIdentity(path: file.path + "-shm") != index.file else {
            return false
        }
        self.index = nil
        return true
    }

    /// The -wal may be another file by now, or none.
    func forgetWal() { tail.close() }

    /// Whether the file's stamp changed since the last call of this or of ``takeNews()``, or a
    /// resting store has a -wal.
    func takeFileNews() -> Bool {
        let now = FileStamp(path: path)
        defer { stamp = now }
        return now != stamp || isResting && hasWrittenWal
    }
}

/// A file as its folder and its name in it, links resolved.
struct WatchedPath {
    let folder: String
    let name: String

    var path: String { folder == "/" ? "/" + name : folder + "/" + name }

    init(_ path: String) {
        let full = PathResolution.resolved(path)
        let slash = full.utf8.lastIndex(of: UInt8(ascii: "/")) ?? full.startIndex
        folder = slash == full.startIndex ? "/" : String(full[..<slash])
        name = String(full.unicodeScalars[slash...].dropFirst())
    }
}

import Glibc
import SyncStorage
import SyncValues

/// The journals of daemons that have the store, as a reader without one of its own uses them: their
/// paths are in `syncd_meta` (docs/store-format.md §1.6).
///
/// What a daemon told is in its journal until it is in the history tables. A reader that digests
/// takes these boundaries, and holds the lock of the journals while it writes.
final class NamedJournals {
    private let descriptors: [Int32]
    /// A journal that exists and may not be read by this process.
    let unreadable: String?
    private var held: [Int32] = []

    /// Opens the journals of the replica in its present epoch. A file that is gone told nothing
    /// that the history tables do not have.
    /// - Throws: the error of SQLite.
    convenience init(_ metadata: Metadata, identity: StoreIdentity) throws {
        self.init(try Self.paths(metadata, identity: identity))
    }

    /// Opens the journals at these paths.
    init(_ paths: [String]) {
        var descriptors: [Int32] = []
        var unreadable: String?
        for path in paths {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            if descriptor >= 0 {
                descriptors.append(descriptor)
            } else if errno != ENOENT, errno != ENOTDIR {
                unreadable = path
            }
        }
        self.descriptors = descriptors
        self.unreadable = unreadable
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    /// No journal is named, or none that is there.
    var isEmpty: Bool { descriptors.isEmpty && unreadable == nil }

    /// What they told, ascending. Of a number that several have, the coarser one holds.
    var boundaries: [Boundary] {
        Self.united(descriptors.flatMap(BoundaryJournal.boundaries(in:)))
    }

    /// What several journals have, ascending.
    static func united(_ boundaries: [Boundary]) -> [Boundary] {
        var ends: [Int64: Boundary] = [:]
        for boundary in boundaries {
            let isExact = boundary.isExact && ends[boundary.last]?.isExact ?? true
            ends[boundary.last] = Boundary(last: boundary.last, isExact: isExact)
        }
        return ends.values.sorted { $0.last < $1.last }
    }

    /// Takes the locks of all of them, until ``release()``.
    /// - Throws: `busy` when one is held for too long; none is held then.
    func lock() throws {
        guard lock(waitingFor: FileLock.readerWait) else {
            release()
            throw SyncError(
                .busy, "the daemon is recording a commit", hint: "Try again in a moment")
        }
    }

    /// The same, for at most `limit` each.
    /// - Returns: whether all are held.
    @discardableResult
    func lock(waitingFor limit: Duration) -> Bool {
        for descriptor in descriptors where !held.contains(descriptor) {
            if FileLock.take(descriptor, waitingFor: limit) { held.append(descriptor) }
        }
        return held.count == descriptors.count
    }

    /// Releases the locks that ``lock()`` took.
    func release() {
        for descriptor in held { FileLock.release(descriptor) }
        held = []
    }

    // MARK: Their names

    /// The paths of the journals of the replica in its present epoch, sorted: their locks are taken
    /// in this order.
    /// - Throws: the error of SQLite.
    static func paths(
        _ metadata: Metadata, identity: StoreIdentity
    ) throws -> [String] {
        // A copy of the file has the journals of the original; theirs are another replica's.
        let name = BoundaryJournal.name(replica: identity.replica, epoch: identity.epoch)
        return try (metadata.text(.journals) ?? "").split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("/") && $0.hasSuffix("/" + name) }
            .sorted { $0.precedesInBytes($1) }
    }

    /// Adds the path of a journal, within a write transaction, and drops those of files that are
    /// gone and of earlier epochs.
    /// - Throws: the error of SQLite.
    static func name(
        _ path: String, in metadata: Metadata, identity: StoreIdentity
    ) throws {
        var paths = try paths(metadata, identity: identity)
            .filter { access($0, F_OK) == 0 || errno != ENOENT }
        if !paths.contains(where: path.hasBytes) { paths.append(path) }
        try metadata.set(.journals, to: .text(paths.joined(separator: "\n")))
    }

    /// Whether a path is named.
    /// - Throws: the error of SQLite.
    static func isNamed(
        _ path: String, in metadata: Metadata, identity: StoreIdentity
    ) throws -> Bool {
        try paths(metadata, identity: identity).contains(where: path.hasBytes)
    }

    // MARK: What was taken back

    /// Whether readers were told of transactions that the log does not have: a power failure took
    /// them back, or an older copy of the file was put in its place, and may have grown since.
    /// Numbers would be given again.
    ///
    /// - Parameter directory: where a daemon has its journals: one that is not named yet is there.
    /// - Throws: the error of SQLite.
    static func tellMore(
        than connection: OpaquePointer, identity: StoreIdentity, orIn directory: String?
    ) throws -> Bool {
        let metadata = Metadata(connection)
        var paths = try paths(metadata, identity: identity)
        if let directory {
            let name = BoundaryJournal.name(replica: identity.replica, epoch: identity.epoch)
            paths.append("\(directory)/\(name)")
        }
        let journals = NamedJournals(paths)
        let told = journals.boundaries.last?.last ?? 0
        let marks = journals.descriptors.flatMap { BoundaryJournal.marks(in: $0) }
        // Read after the journals: a commit that is told meanwhile is in both.
        guard try told <= LogTable.newest(on: connection) else { return true }
        let anchor = try HistoryAnchor(connection, metadata: metadata)
        let digested = try metadata.position(.digested)
        for (number, mark) in marks where number > digested {
            let row = try anchor.read(number)
            if row?.mark == mark { continue }
            // It may have been digested, and deleted from the log, a moment ago.
            if try metadata.position(.digested) < number { return true }
        }
        return false
    }
}

import SyncStorage
import SyncValues

/// The journals of other daemons that have the same store: with another state directory, as a
/// system's and a user's own daemon have. What one of them told, the others tell as well: the same
/// ends of transactions, with the same numbers.
///
/// A daemon holds the locks of all journals that it knows of from before it reads the log until it
/// has recorded what it found. So of two daemons one is first, and the other takes the ends that it
/// recorded. All take the locks in the order of the paths. A daemon gets to know of another one by
/// the name in the metadata, with the first read after it was written.
///
/// Confined to the connection's queue.
final class PeerJournals {
    private let own: BoundaryJournal
    private let metadata: Metadata
    private let identity: StoreIdentity
    private var paths: [String] = []
    /// Those whose paths are before and after the own one.
    private var lower: NamedJournals?
    private var upper: NamedJournals?

    init(besides own: BoundaryJournal, _ metadata: Metadata, identity: StoreIdentity) {
        self.own = own
        self.metadata = metadata
        self.identity = identity
    }

    /// No other daemon is known to have the store.
    var isEmpty: Bool { paths.isEmpty }

    /// Takes the locks of the own one and of all others, until ``release()``; none is waited for
    /// beyond ``FileLock/recorderWait``.
    func lock() {
        lower?.lock(waitingFor: FileLock.recorderWait)
        own.lock()
        upper?.lock(waitingFor: FileLock.recorderWait)
    }

    /// Ends what ``lock()`` began.
    func release() {
        upper?.release()
        own.unlock()
        lower?.release()
    }

    /// Of the ends of commits that were found after `start`, takes those that the others have
    /// recorded, up to the last of these, and the own ones after it.
    /// - Throws: the error of SQLite.
    func adopt(_ found: [Boundary], after start: Int64) throws -> [Boundary] {
        let newest = found.last?.last ?? start
        let told = try recorded().filter { $0.last > start && $0.last <= newest }
        guard let end = told.last?.last else { return found }
        return told + found.filter { $0.last > end }
    }

    /// The ends of transactions that the others have recorded, within the transaction that the
    /// connection is in.
    /// - Throws: the error of SQLite.
    func recorded() throws -> [Boundary] {
        let present = try NamedJournals.paths(metadata, identity: identity)
            .filter { !$0.hasBytes(of: own.path) }
        if present.map(ExactText.init) != paths.map(ExactText.init) {
            lower?.release()
            upper?.release()
            paths = present
            lower = Self.journals(present.filter { $0.precedesInBytes(own.path) })
            upper = Self.journals(present.filter { own.path.precedesInBytes($0) })
            // Not waited for: the order of the locks is not kept.
            lower?.lock(waitingFor: .zero)
            upper?.lock(waitingFor: .zero)
        }
        return NamedJournals.united((lower?.boundaries ?? []) + (upper?.boundaries ?? []))
    }

    private static func journals(_ paths: [String]) -> NamedJournals? {
        paths.isEmpty ? nil : NamedJournals(paths)
    }
}

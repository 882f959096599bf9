import CLinux
import Glibc
import SyncClient
import SyncCore
import SyncStorage
import Synchronization
import Varlink

/// The stores of the daemon by path: those of the configuration, and those tracked at run time.
///
/// Invariants: one hub for each path, links resolved; a hub is in the table from before it opens
/// until it is closed. Calls block on the stores: on the pool.
final class StoreRegistry: Sendable {
    private struct State {
        var hubs: [String: StoreHub] = [:] {
            didSet { sorted = nil }
        }
        /// By path; nil after a change, until it is asked for.
        var sorted: [StoreHub]?
        var isStopped = false
        /// For the stores whose entry has no limits, and for the others.
        var limits = HistoryLimits()
        var limitsByPath: [String: HistoryLimits] = [:]
        /// As of the last ``reopenTruncated()``.
        var truncatedPages: UInt64 = 0
        /// The last ``reopenTruncated()`` found one.
        var isTruncationLeft = false
    }

    private let environment: StoreHub.Environment
    private let remembered: RememberedStores
    private let state = Mutex(State())

    init(_ environment: StoreHub.Environment, remembered: RememberedStores) {
        self.environment = environment
        self.remembered = remembered
    }

    /// By path.
    var hubs: [StoreHub] {
        state.withLock { state in
            let hubs = state.sorted ?? state.hubs.values.sorted { $0.path < $1.path }
            state.sorted = hubs
            return hubs
        }
    }

    /// Opens the stores of the configuration and of the state directory, and closes those that are
    /// in neither any more. The stores that stay, and their clients, are not disturbed.
    ///
    /// Stores that clients had tracked and that are not the daemon's own are left to ``retry()``
    /// and to the first call about them: what their owners do with their files must not keep the
    /// daemon from serving the others.
    func load(_ configuration: Configuration) {
        let entries = configuration.stores
        var wanted: [String: Configuration.StoreEntry] = [:]
        for path in remembered.all {
            wanted[PathResolution.resolved(path)] = Configuration.StoreEntry(path: path)
        }
        var later = Set(wanted.keys)
        for entry in entries {
            let path = PathResolution.resolved(entry.path)
            wanted[path] = entry
            later.remove(path)
        }
        later = later.filter { FileOwnership(of: $0)?.isOwn == false }
        let (new, old) = state.withLock { state -> ([StoreHub], [StoreHub]) in
            state.limits = configuration.limits
            state.limitsByPath = wanted.mapValues(\.limits).filter { !$0.value.isEmpty }
            let old = state.hubs.values.filter { wanted[$0.path] == nil }
            for hub in old { state.hubs[hub.path] = nil }
            let new = wanted.filter { state.hubs[$0.key] == nil }.map { path, entry in
                StoreHub(entry, path: path, environment: environment)
            }
            for hub in new { state.hubs[hub.path] = hub }
            return (new, old)
        }
        for hub in old { hub.close(Self.forgotten(hub.path)) }
        for hub in new.sorted(by: { $0.path < $1.path }) where !later.contains(hub.path) {
            hub.open()
        }
    }

    /// Tries again what could not be opened, and opens what was not tried yet.
    func retry() { for hub in hubs where !hub.isOpen { hub.retry() } }

    /// Purges what is beyond the limits of the configuration. Blocks: on the pool.
    func purge() {
        for hub in hubs {
            hub.purge(beyond: state.withLock { $0.limitsByPath[hub.path] ?? $0.limits })
        }
    }

    /// Compares the rows of one store whose last comparison is `interval` ago. Blocks: on the pool.
    func compare(every interval: Duration) {
        // One at a time: a thousand stores that are due together must not keep the disk busy.
        for hub in hubs where hub.compareIfDue(every: interval) { return }
    }

    /// Has idle stores free their memory, and ends subscriptions whose clients lost their
    /// permission.
    func unloadIdle() {
        for hub in hubs {
            hub.dismissExcluded()
            try? hub.store().unload()
        }
    }

    /// Opens the stores again whose `-shm` was truncated by another program: their connections see
    /// memory of this process alone. Blocks: on the pool.
    func reopenTruncated() {
        let pages = DatabaseOpener.truncatedPages
        let isDue = state.withLock { state in
            defer { state.truncatedPages = pages }
            return state.truncatedPages != pages || state.isTruncationLeft
        }
        guard isDue else { return }
        // Asked again until none is found: another connection of this process, as that of an
        // exchange, keeps SQLite's mapping while it is open.
        let count = hubs.count { $0.isOpen && $0.reopenIfTruncated() }
        state.withLock { $0.isTruncationLeft = count > 0 }
    }

    /// Closes the connections of stores that are not in use. Blocks: on the pool.
    func rest() {
        let count = hubs.count { $0.restIfIdle() }
        // Closed connections leave holes in the heap.
        if count >= Self.trimmedStoresMin { syncd_trim_memory() }
    }

    /// The number of stores that come to rest at once after a start.
    private static let trimmedStoresMin = 10

    /// How long all digests of a stop take at most.
    private static let stopTime = Duration.seconds(2)

    /// Digests what is not digested yet, as far as that takes no more than ``stopTime``, and closes
    /// everything.
    func stop() {
        let hubs = state.withLock { state in
            defer { state.hubs = [:] }
            state.isStopped = true
            return state.hubs.values
        }
        let error = SyncError(.unreachable, "the daemon is stopping", hint: "Connect again")
        let end = ContinuousClock.now + Self.stopTime
        for hub in hubs {
            hub.digestRest(until: end)
            hub.close(error)
        }
    }

    // MARK: As a caller sees it

    /// The stores that the caller could read, each as it was opened; nil where it is not open.
    func visible(to peer: PeerIdentity) -> [PermittedStore] {
        hubs.compactMap { permitted($0, for: peer, need: .read) }
    }

    /// The store of a path or an id, as the caller may use it. One that the caller may not see does
    /// not exist for it.
    ///
    /// The permission is that of the file that is open: the file at the path has to be this one. A
    /// call works on what this gives it and never asks the hub again, which may have opened another
    /// file by then.
    ///
    /// - Throws: ``SyncError``: `unknownStore`, `notAllowed`.
    func store(
        _ name: String, for peer: PeerIdentity, need: FilePermission.Need
    ) throws -> PermittedStore {
        guard let found = find(name, for: peer) else { throw Self.unknown(name) }
        guard need == .write else { return found }
        guard let store = permitted(found.hub, for: peer, need: need) else {
            throw Self.mayNotWrite(found.hub.path, peer: peer)
        }
        return store
    }

    private func find(_ name: String, for peer: PeerIdentity) -> PermittedStore? {
        if let id = StoreID(name) {
            // One that was not opened yet may be it.
            for hub in hubs { openIfUntried(hub, for: peer) }
            for hub in hubs where (try? hub.store().id) == id {
                let store = permitted(hub, for: peer, need: .read)
                if let store, store.openedNow?.store.id == id { return store }
            }
            return nil
        }
        let path = PathResolution.resolved(name)
        guard let hub = state.withLock({ $0.hubs[path] }) else { return nil }
        openIfUntried(hub, for: peer)
        return permitted(hub, for: peer, need: .read)
    }

    /// Opens a store that was left for later (``load(_:)``), for a caller that may read it.
    private func openIfUntried(_ hub: StoreHub, for peer: PeerIdentity) {
        if hub.isUntried, FilePermission.allows(.read, at: hub.path, peer: peer) { hub.openFirst() }
    }

    /// What the caller may use of a store; nil: nothing.
    func permitted(
        _ hub: StoreHub, for peer: PeerIdentity, need: FilePermission.Need
    ) -> PermittedStore? {
        // First what is open, then the permission: what is opened later was not checked.
        let opened = try? hub.opened()
        guard let file = FilePermission.file(at: hub.path, for: need, peer: peer) else {
            let mayForget = Self.mayForget(hub, peer: peer)
            return mayForget ? PermittedStore(hub: hub, openedNow: nil) : nil
        }
        guard let opened, opened.file != file else {
            return PermittedStore(hub: hub, openedNow: opened)
        }
        // The caller may open what is at the path, and that is not what is open here.
        hub.reopenLater()
        return PermittedStore(hub: hub, openedNow: nil, isReplaced: true)
    }

    /// A store whose file is gone has no permissions: root and the daemon's own user may see it.
    private static func mayForget(_ hub: StoreHub, peer: PeerIdentity) -> Bool {
        (peer.uid == 0 || peer.uid == getuid()) && FileIdentity(path: hub.path) == nil
    }

    // MARK: Tracking

    /// Tracks a database, opens it and remembers it.
    ///
    /// - Throws: ``SyncError``: `notAllowed`, `noSuchFile`, and what ``Store/track`` throws.
    func track(
        _ entry: Configuration.StoreEntry, for peer: PeerIdentity
    ) throws -> (store: PermittedStore, report: TrackReport) {
        let path = PathResolution.resolved(entry.path)
        guard entry.path.hasPrefix("/") else {
            throw SyncError(
                .invalidArgument, "'\(entry.path)' is not an absolute path",
                hint: "Give the whole path of the database file")
        }
        try checkMayTrack(path, peer: peer)
        let hub = state.withLock { state in
            if let hub = state.hubs[path] { return hub }
            return StoreHub(
                Configuration.StoreEntry(path: path), path: path, environment: environment)
        }
        let report = try hub.whileClosed {
            // The path may have become another file's since it was resolved.
            try Store.track(path, choosing: entry.captureChoice) {
                try Self.check($0, isAt: path, peer: peer)
            }
        }
        state.withLock { $0.hubs[path] = hub }
        try remembered.add(path)
        guard let store = permitted(hub, for: peer, need: .read) else { throw Self.unknown(path) }
        return (store, report)
    }

    /// Whether a file that was opened is the one at its path, and the caller may write it.
    private static func check(
        _ file: FileIdentity, isAt path: String, peer: PeerIdentity
    ) throws {
        guard FilePermission.file(at: path, for: .write, peer: peer) == file else {
            throw mayNotWrite(path, peer: peer)
        }
    }

    private static func mayNotWrite(_ path: String, peer: PeerIdentity) -> SyncError {
        SyncError(
            .notAllowed, "uid \(peer.uid) may not write the database", path: path,
            hint: "Ask its owner for write permission on the file")
    }

    private func checkMayTrack(_ path: String, peer: PeerIdentity) throws {
        if FilePermission.allows(.write, at: path, peer: peer) { return }
        if access(path, F_OK) != 0, FilePermission.reaches(path, peer: peer) {
            throw SyncError(
                .noSuchFile, "there is no such file", path: path,
                hint: "Check the spelling of the path")
        }
        throw Self.mayNotWrite(path, peer: peer)
    }

    /// Stops watching a store and forgets it; unless `keepsData`, removes every trace from the
    /// file.
    ///
    /// - Returns: what stays in the file although it is named like the store's own tables.
    /// - Throws: ``SyncError``; the store is then watched as before.
    func untrack(
        _ name: String, for peer: PeerIdentity, keepsData: Bool
    ) throws -> UntrackReport {
        guard let hub = find(name, for: peer)?.hub else { throw Self.unknown(name) }
        let isGone = FileIdentity(path: hub.path) == nil
        if !isGone, !FilePermission.allows(.write, at: hub.path, peer: peer) {
            throw Self.mayNotWrite(hub.path, peer: peer)
        }
        if !keepsData, !isGone, !hub.isOpen { try hub.requireRemains() }
        let journal = try? hub.opened().journal
        let report = try hub.close(Self.forgotten(hub.path)) {
            var report = UntrackReport()
            if !keepsData, !isGone {
                report = try Store.untrack(hub.path) {
                    try Self.check($0, isAt: hub.path, peer: peer)
                }
            }
            journal?.remove()
            state.withLock { $0.hubs[hub.path] = nil }
            return report
        }
        try remembered.remove(hub.path)
        return report
    }

    // MARK: Names

    private static func unknown(_ name: String) -> SyncError {
        SyncError(
            .unknownStore, "the daemon does not know the store '\(name.prefix(200))'",
            hint: "Track it: synctool track DB; or see: synctool status")
    }

    private static func forgotten(_ path: String) -> SyncError {
        SyncError(
            .unknownStore, "the daemon no longer watches the store", path: path,
            hint: "Track it again: synctool track DB")
    }
}

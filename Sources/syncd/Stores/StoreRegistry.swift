import Glibc
import SyncClient
import SyncCore
import Synchronization
import Varlink

/// The stores of the daemon by path: those of the configuration, and those tracked at run time.
///
/// Invariants: one hub for each path, links resolved; a hub is in the table from before it opens
/// until it was told to close. Calls block on the stores: on the pool.
final class StoreRegistry: Sendable {
    private struct State {
        var hubs: [String: StoreHub] = [:] {
            didSet { sorted = nil }
        }
        /// By path, while it was asked for since the last change.
        var sorted: [StoreHub]?
        var isStopped = false
        /// What stores purge whose entry says nothing, and what the others do.
        var limits = HistoryLimits()
        var limitsByPath: [String: HistoryLimits] = [:]
    }

    private let environment: StoreHub.Environment
    private let remembered: RememberedStores
    private let state = Mutex(State())

    init(_ environment: StoreHub.Environment, _ remembered: RememberedStores) {
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

    /// Opens what the configuration and the state say, and closes what they no longer say. The
    /// clients of stores that stay notice nothing.
    func load(_ configuration: Configuration) {
        let entries = configuration.stores
        var wanted: [String: Configuration.StoreEntry] = [:]
        for path in remembered.all {
            wanted[Self.resolved(path)] = Configuration.StoreEntry(path: path)
        }
        for entry in entries { wanted[Self.resolved(entry.path)] = entry }
        let (new, old) = state.withLock { state -> ([StoreHub], [StoreHub]) in
            state.limits = configuration.limits
            state.limitsByPath = wanted.mapValues(\.limits).filter { !$0.value.isEmpty }
            let old = state.hubs.values.filter { wanted[$0.path] == nil }
            for hub in old { state.hubs[hub.path] = nil }
            let new = wanted.filter { state.hubs[$0.key] == nil }.map { path, entry in
                StoreHub(entry, path: path, environment)
            }
            for hub in new { state.hubs[hub.path] = hub }
            return (new, old)
        }
        for hub in old { hub.close(Self.forgotten(hub.path)) }
        for hub in new.sorted(by: { $0.path < $1.path }) { hub.open() }
    }

    /// Tries again what could not be opened.
    func retry() { for hub in hubs where !hub.isOpen { hub.retry() } }

    /// Purges what is beyond the limits of the configuration. Blocks: on the pool.
    func purge() {
        for hub in hubs {
            hub.purge(beyond: state.withLock { $0.limitsByPath[hub.path] ?? $0.limits })
        }
    }

    /// Gives back what stores hold that nobody asks.
    func rest() {
        for hub in hubs {
            hub.dismissExcluded()
            try? hub.opened().store.rest()
        }
    }

    /// Writes what is kept in memory and closes everything.
    func stop() {
        let hubs = state.withLock { state in
            defer { state.hubs = [:] }
            state.isStopped = true
            return state.hubs.values
        }
        let error = SyncError(.unreachable, "the daemon stops", hint: "Connect again")
        for hub in hubs { hub.close(error) }
    }

    // MARK: As a caller sees it

    /// The stores that the caller could read, each as it was opened; nil where it is not open.
    func visible(to peer: PeerIdentity) -> [StoreAccess] {
        hubs.compactMap { usable($0, peer, .read) }
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
        _ name: String, _ peer: PeerIdentity, _ need: Access.Need
    ) throws -> StoreAccess {
        guard let found = find(name, peer) else { throw Self.unknown(name) }
        guard need == .write else { return found }
        guard let access = usable(found.hub, peer, need) else {
            throw Self.mayNotWrite(found.hub.path, peer)
        }
        return access
    }

    private func find(_ name: String, _ peer: PeerIdentity) -> StoreAccess? {
        if let id = StoreID(name) {
            for hub in hubs where (try? hub.store().id) == id {
                let access = usable(hub, peer, .read)
                if let access, access.openedNow?.store.id == id { return access }
            }
            return nil
        }
        let path = Self.resolved(name)
        guard let hub = state.withLock({ $0.hubs[path] }) else { return nil }
        return usable(hub, peer, .read)
    }

    /// What the caller may use of a store; nil: nothing.
    func usable(
        _ hub: StoreHub, _ peer: PeerIdentity, _ need: Access.Need
    ) -> StoreAccess? {
        // First what is open, then the permission: what is opened later was not checked.
        let opened = try? hub.opened()
        guard let file = Access.file(need, hub.path, peer) else {
            return Self.mayForget(hub, peer) ? StoreAccess(hub: hub, openedNow: nil) : nil
        }
        guard let opened, opened.store.file != file else {
            return StoreAccess(hub: hub, openedNow: opened)
        }
        // The caller may open what is at the path, and that is not what is open here.
        hub.reopenLater()
        return StoreAccess(hub: hub, openedNow: nil, isReplaced: true)
    }

    /// A store whose file is gone has no permissions: root and the daemon's own user may see it.
    private static func mayForget(_ hub: StoreHub, _ peer: PeerIdentity) -> Bool {
        (peer.uid == 0 || peer.uid == getuid()) && FileIdentity(path: hub.path) == nil
    }

    // MARK: Tracking

    /// Tracks a database, opens it and remembers it.
    func track(
        _ entry: Configuration.StoreEntry, _ peer: PeerIdentity
    ) throws -> (store: StoreAccess, report: TrackReport) {
        let path = Self.resolved(entry.path)
        guard entry.path.hasPrefix("/") else {
            throw SyncError(
                .invalidArgument, "'\(entry.path)' is not an absolute path",
                hint: "Give the whole path of the database file")
        }
        try checkTracking(path, peer)
        let hub = state.withLock { state in
            if let hub = state.hubs[path] { return hub }
            return StoreHub(Configuration.StoreEntry(path: path), path: path, environment)
        }
        let report = try hub.whileClosed {
            // The path may have become another file's since it was resolved.
            try Store.track(path, entry.captureChoice) { try Self.check($0, path, peer) }
        }
        state.withLock { $0.hubs[path] = hub }
        try remembered.add(path)
        guard let access = usable(hub, peer, .read) else { throw Self.unknown(path) }
        return (access, report)
    }

    /// Whether a file that was opened is the one at its path, and the caller may write it.
    private static func check(
        _ file: FileIdentity, _ path: String, _ peer: PeerIdentity
    ) throws {
        guard Access.file(.write, path, peer) == file else { throw mayNotWrite(path, peer) }
    }

    private static func mayNotWrite(_ path: String, _ peer: PeerIdentity) -> SyncError {
        SyncError(
            .notAllowed, "uid \(peer.uid) may not write the database", path: path,
            hint: "Ask its owner for write permission on the file")
    }

    private func checkTracking(_ path: String, _ peer: PeerIdentity) throws {
        if Access.allows(.write, path, peer) { return }
        if access(path, F_OK) != 0, Access.reaches(path, peer) {
            throw SyncError(
                .noSuchFile, "there is no such file", path: path,
                hint: "Look at the path's spelling")
        }
        throw Self.mayNotWrite(path, peer)
    }

    /// Stops watching a store and forgets it; unless `keepsData`, removes every trace from the
    /// file.
    ///
    /// - Returns: what stays in the file although it is named like ours.
    func untrack(_ name: String, _ peer: PeerIdentity, keepsData: Bool) throws -> UntrackReport {
        guard let hub = find(name, peer)?.hub else { throw Self.unknown(name) }
        let isGone = FileIdentity(path: hub.path) == nil
        if !isGone, !Access.allows(.write, hub.path, peer) {
            throw Self.mayNotWrite(hub.path, peer)
        }
        if !keepsData, !isGone, !hub.isOpen { try hub.requireRemains() }
        let journal = try? hub.opened().journal
        state.withLock { $0.hubs[hub.path] = nil }
        hub.close(Self.forgotten(hub.path))
        var report = UntrackReport()
        do {
            if !keepsData, !isGone {
                report = try Store.untrack(hub.path) { try Self.check($0, hub.path, peer) }
            }
            journal?.remove()
        } catch {
            // Still tracked: it is watched again.
            let again = StoreHub(hub.entry, path: hub.path, environment)
            state.withLock { $0.hubs[hub.path] = again }
            again.open()
            throw error
        }
        try remembered.remove(hub.path)
        return report
    }

    // MARK: Names

    /// The path with links resolved; of a file that is not there, with the links of its directory.
    static func resolved(_ path: String) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex,
            let directory = realpath(String(path[..<slash]), nil)
        else { return path }
        defer { free(directory) }
        return String(cString: directory) + path[slash...]
    }

    private static func unknown(_ name: String) -> SyncError {
        SyncError(
            .unknownStore, "the daemon does not know the store '\(name.prefix(200))'",
            hint: "Track it: synctool track DB; or see: synctool status")
    }

    private static func forgotten(_ path: String) -> SyncError {
        SyncError(
            .unknownStore, "the store is not watched any more", path: path,
            hint: "Track it again: synctool track DB")
    }
}

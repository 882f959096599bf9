import CLinux
import Dispatch
import Glibc
import SyncClient
import SyncCore
import SyncStorage
import Synchronization
import Varlink

/// The stores of this process by path: those of the configuration, and those tracked at run time.
/// In a daemon with workers, those of the daemon's user alone; in a worker, those of its owner.
///
/// Invariants: one hub for each path, links resolved, compared by bytes; a hub is in the table from
/// before it opens until it is closed. Calls block on the stores: on the pool.
final class StoreRegistry: Sendable {
    private struct State {
        var hubs: ExactMap<StoreHub> = [:] {
            didSet { sorted = nil }
        }
        /// By path; nil after a change, until it is asked for.
        var sorted: [StoreHub]?
        var isStopped = false
        /// For the stores whose entry has no limits, and for the others.
        var limits = HistoryLimits()
        var limitsByPath: ExactMap<HistoryLimits> = [:]
        /// As of the last look at the stores of an owner for truncated files.
        var truncatedPages: [UInt32: UInt64] = [:]
        /// The owners of whose stores the last look found one.
        var truncationsLeft: Set<UInt32> = []
        /// What is under way.
        var rounds: Set<Round> = []
        /// How often it was looked for stores that have another owner now.
        var ownerLooks = 0
    }

    private let environment: StoreHub.Environment
    private let remembered: RememberedStores
    /// Where the stores of other users are; nil: here.
    private let workers: OwnerWorkers?
    private let state = Mutex(State())

    init(
        _ environment: StoreHub.Environment, remembered: RememberedStores,
        workers: OwnerWorkers? = nil
    ) {
        self.environment = environment
        self.remembered = remembered
        self.workers = workers
    }

    /// By path.
    var hubs: [StoreHub] {
        state.withLock { state in
            let hubs = state.sorted ?? state.hubs.values.sorted { $0.path.precedesInBytes($1.path) }
            state.sorted = hubs
            return hubs
        }
    }

    /// Opens the stores of the configuration and of the state directory, and closes those that are
    /// in neither any more. The stores that stay, and their clients, are not disturbed; one that is
    /// to be recorded in another way is opened again.
    ///
    /// Stores that clients had tracked and that are not the daemon's own are left to ``retry()``
    /// and to the first call about them: what their owners do with their files must not keep the
    /// daemon from serving the others.
    ///
    /// - Parameter retries: workers try those again that could not be opened.
    func load(_ configuration: Configuration, retries: Bool = false) {
        let entries = configuration.stores
        var wanted: ExactMap<Configuration.StoreEntry> = [:]
        for path in remembered.all {
            wanted[PathResolution.resolved(path)] = Configuration.StoreEntry(path: path)
        }
        var later = ExactSet(wanted.keys)
        for entry in entries {
            let path = PathResolution.resolved(entry.path)
            wanted[path] = entry
            later.remove(path)
        }
        let taken = workers?.adopt(wanted, of: configuration, retries: retries) ?? []
        wanted = wanted.filter { !taken.contains($0.key) }
        later = later.filter { FileOwnership(of: $0)?.isOwn == false && !taken.contains($0) }
        let (new, old, changed) = state.withLock { state -> ([StoreHub], [StoreHub], [StoreHub]) in
            state.limits = configuration.limits
            state.limitsByPath = wanted.mapValues(\.limits).filter { !$0.value.isEmpty }
            let old = state.hubs.values.filter { wanted[$0.path] == nil }
            let changed = state.hubs.values.filter { hub in
                wanted[hub.path].map(hub.adopt) ?? false
            }
            for hub in old { state.hubs[hub.path] = nil }
            let new = wanted.filter { state.hubs[$0.key] == nil }.map { path, entry in
                StoreHub(entry, path: path, environment: environment)
            }
            for hub in new { state.hubs[hub.path] = hub }
            return (new, old, changed)
        }
        // Opening compares, and subscriptions go on.
        for hub in changed where hub.isOpen { hub.reopenLater() }
        for hub in old {
            // What a worker does not serve any more is another process's, or the daemon says of it
            // that it is forgotten.
            let isMoved = environment.isWorker || taken.contains(hub.path)
            let error = isMoved ? Self.moved(hub.path) : Self.forgotten(hub.path)
            environment.pool.submit(for: hub.owner) { _ in hub.close(error) }
        }
        for hub in new { hub.quarantineAfterCrashes() }
        let first = new.sorted { $0.path.precedesInBytes($1.path) }
            .filter { !later.contains($0.path) }
        // Those in quarantine are tried when their pause is over.
        let foreign = first.filter {
            $0.owner != geteuid()
                && environment.marks.crashes(of: $0.path) < CrashMarks.quarantineMin
        }
        let others = openForeign(foreign.filter { environment.marks.crashes(of: $0.path) == 0 })
        // What may end the process again is opened when nothing else is at work, one by one.
        let suspects = foreign.filter { environment.marks.crashes(of: $0.path) > 0 }
        if !suspects.isEmpty {
            others.notify(queue: .global()) { [environment] in
                environment.pool.submit(for: suspects[0].owner) { isActive in
                    for hub in suspects where isActive { hub.open() }
                }
            }
        }
        for hub in first where hub.owner == geteuid() { hub.open() }
        // Their owners decide how long that takes.
        _ = others.wait(timeout: .now() + .seconds(Self.othersOpeningMax))
    }

    /// Opens stores of other users at the same time, as far as their owners have threads.
    private func openForeign(_ hubs: [StoreHub]) -> DispatchGroup {
        let group = DispatchGroup()
        for hub in hubs {
            group.enter()
            environment.pool.submit(for: hub.owner) { isActive in
                if isActive { hub.open() }
                group.leave()
            }
        }
        return group
    }

    /// How many seconds the start waits for the stores of the configuration that belong to others.
    private static let othersOpeningMax = 2

    /// Tries again what could not be opened, and opens what was not tried yet. Does not block.
    func retry() { for hub in hubs where !hub.isOpen { hub.retry() } }

    /// Has all stores tried that could not be opened, whatever their pauses.
    func retryNow() {
        for hub in hubs where !hub.isOpen { try? hub.askForTry(isTrusted: true) }
        retry()
    }

    // MARK: Whose they are

    /// Gives stores whose files have another owner now to the process that serves that owner's.
    /// Blocks.
    ///
    /// In no moment a store is nobody's: it is given away and taken out of the table in one, and
    /// only then its subscribers are told to connect again.
    func reassign(_ moved: ExactMap<UInt32>) {
        guard let workers else { return }
        for (path, owner) in moved {
            // It asks the file system, which does not belong into the lock.
            let own =
                owner == geteuid()
                ? StoreHub(
                    Configuration.StoreEntry(path: path), path: path, environment: environment)
                : nil
            let (former, new) = state.withLock { state -> (StoreHub?, StoreHub?) in
                let former = state.hubs[path]
                guard let own else {
                    workers.give(path, to: owner, entry: former?.entry)
                    state.hubs[path] = nil
                    return (former, nil)
                }
                guard former == nil, !state.isStopped, let former = workers.release(path) else {
                    return (nil, nil)
                }
                _ = own.adopt(former.entry)
                state.hubs[path] = own
                return (nil, own)
            }
            former?.close(Self.moved(path))
            new?.open()
            environment.log.notice(
                "the store's file has another owner now, whose process serves it",
                metadata: ["store": .string(path), "owner": "\(owner)"])
        }
    }

    /// Finds stores of this process whose files have another owner now. Blocks.
    ///
    /// All that are not open are looked at, and with each call another part of those that are: a
    /// file of another owner that is put in the place of an open one is not opened, and what is
    /// open may change its owner in place alone.
    func reassignOwn() {
        guard workers != nil else { return }
        let turn = state.withLock { state in
            state.ownerLooks += 1
            return state.ownerLooks
        }
        let hubs = hubs
        let parts = 1 + hubs.count / Self.ownersPerLook
        let looked = hubs.enumerated().filter { index, hub in
            (index + turn) % parts == 0 || !hub.isOpen
        }
        let moved = looked.compactMap { _, hub in
            FileOwnership.owner(of: hub.path).flatMap { $0 == geteuid() ? nil : (hub.path, $0) }
        }
        if !moved.isEmpty { reassign(ExactMap(moved) { $1 }) }
    }

    /// About how many open stores are asked for their owners at once.
    private static let ownersPerLook = 100

    /// Remembers a store that a worker tracks.
    ///
    /// - Throws: ``SyncError`` when the list cannot be written.
    func remember(_ path: String) throws { try remembered.add(path) }

    /// Forgets a store that a worker served.
    ///
    /// - Throws: as ``remember(_:)``.
    func forget(_ path: String) throws { try remembered.remove(path) }

    // MARK: From time to time

    /// What the daemon does with all stores from time to time.
    enum Chore: Hashable {
        case purge
        case compare(every: Duration)
        case unload
        case rest
    }

    private struct Round: Hashable {
        let chore: Chore
        let owner: UInt32
    }

    /// Does a chore for the stores of each owner, on a thread of the owner's share; not for those
    /// where the last round goes on still. Does not block.
    func begin(_ chore: Chore) {
        // Of a thousand stores nearly all rest, and are not even asked for their owners.
        let mayBeTruncated = mayBeTruncated
        let concerned = hubs.filter { hub in
            switch chore {
            case .rest: hub.isAwake || mayBeTruncated
            case .unload: hub.isAwake || !hub.state.subscribers.isEmpty
            case .purge, .compare: true
            }
        }
        for (owner, hubs) in Dictionary(grouping: concerned, by: \.owner) {
            let round = Round(chore: chore, owner: owner)
            guard state.withLock({ $0.rounds.insert(round).inserted }) else { continue }
            environment.pool.submit(for: owner) { [self] isActive in
                if isActive { perform(chore, on: hubs) }
                state.withLock { _ = $0.rounds.remove(round) }
            }
        }
    }

    private func perform(_ chore: Chore, on hubs: [StoreHub]) {
        switch chore {
        case .purge: purge(hubs)
        case .compare(let interval): compare(hubs, every: interval)
        case .unload: unloadIdle(hubs)
        case .rest:
            reopenTruncated(hubs)
            rest(hubs)
        }
    }

    /// Purges what is beyond the limits of the configuration.
    private func purge(_ hubs: [StoreHub]) {
        for hub in hubs {
            let limits = state.withLock { $0.limitsByPath[hub.path] ?? $0.limits }
            hub.marked { hub.purge(beyond: limits) }
        }
    }

    /// Compares the rows of one store whose last comparison is `interval` ago.
    private func compare(_ hubs: [StoreHub], every interval: Duration) {
        // One at a time: a thousand stores that are due together must not keep the disk busy.
        for hub in hubs where hub.marked({ hub.compareIfDue(every: interval) }) { return }
    }

    /// Has idle stores free their memory, and ends subscriptions whose clients lost their
    /// permission.
    private func unloadIdle(_ hubs: [StoreHub]) {
        for hub in hubs {
            hub.marked {
                hub.dismissExcluded()
                try? hub.store().unload()
            }
        }
    }

    /// Whether a `-shm` was truncated since the stores of some owner were looked at, of whichever
    /// store: also of one that rests, whose exchange has it mapped.
    private var mayBeTruncated: Bool {
        let pages = DatabaseOpener.truncatedPages
        return state.withLock { state in
            let looked = state.truncatedPages.values
            return !state.truncationsLeft.isEmpty || looked.contains { $0 != pages }
                || looked.isEmpty && pages > 0
        }
    }

    /// Opens the stores again whose `-shm` was truncated by another program: their connections see
    /// memory of this process alone.
    ///
    /// - Parameter hubs: all of one owner.
    private func reopenTruncated(_ hubs: [StoreHub]) {
        guard let owner = hubs.first?.owner else { return }
        let pages = DatabaseOpener.truncatedPages
        let isDue = state.withLock { state in
            let isLeft = state.truncationsLeft.contains(owner)
            return state.truncatedPages.updateValue(pages, forKey: owner) ?? 0 != pages || isLeft
        }
        guard isDue else { return }
        // Asked again until none is found: another connection of this process, as that of an
        // exchange, keeps SQLite's mapping while it is open.
        let count = hubs.count { $0.isOpen && $0.reopenIfTruncated() }
        state.withLock { state in
            if count > 0 {
                state.truncationsLeft.insert(owner)
            } else {
                state.truncationsLeft.remove(owner)
            }
        }
    }

    /// Closes the connections of stores that are not in use.
    private func rest(_ hubs: [StoreHub]) {
        let count = hubs.count { hub in hub.marked { hub.restIfIdle() } }
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
        // Those of others may take as long as their owners like.
        for hub in hubs.filter(\.isOwn) + hubs.filter({ !$0.isOwn }) {
            hub.marked {
                hub.digestRest(until: end)
                hub.close(error)
            }
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
        guard let found = try find(name, for: peer) else { throw Self.unknown(name) }
        guard need == .write else { return found }
        guard let store = permitted(found.hub, for: peer, need: need) else {
            throw Self.mayNotWrite(found.hub.path, peer: peer)
        }
        return store
    }

    /// Runs `body`, a call about the store of this name, so that it is known after a crash.
    func marked<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
        // Nothing of it is told to the caller.
        let hub =
            StoreID(name).map { id in hubs.first { (try? $0.store().id) == id } }
            ?? state.withLock { $0.hubs[PathResolution.resolved(name)] }
        return try hub.map { try $0.marked(body) } ?? body()
    }

    private func find(_ name: String, for peer: PeerIdentity) throws -> PermittedStore? {
        if let id = StoreID(name) {
            // One that was not opened yet may be it.
            openUntried(for: peer)
            for hub in hubs where (try? hub.store().id) == id {
                let store = permitted(hub, for: peer, need: .read)
                if let store, store.openedNow?.store.id == id { return store }
            }
            return nil
        }
        try DatabaseOpener.refuseNUL(in: name)
        guard let path = CallerPath.resolved(name, for: peer) else { return nil }
        guard let hub = state.withLock({ $0.hubs[path] }) else {
            // The call was on its way here when the store was given to another process.
            if isElsewhere(path), FilePermission.allows(.read, at: path, peer: peer) {
                throw Self.moved(path)
            }
            return nil
        }
        openIfUntried(hub, for: peer, until: .now + Self.firstOpeningMax)
        return permitted(hub, for: peer, need: .read)
    }

    /// Whether another process serves a store that is not in the table: a worker is asked about
    /// those alone that the daemon believes to be its.
    private func isElsewhere(_ path: String) -> Bool {
        environment.isWorker || workers?.owner(of: path) != nil
    }

    /// Opens a store that was left for later (``load(_:)``), for a caller that may read it.
    private func openIfUntried(
        _ hub: StoreHub, for peer: PeerIdentity, until end: ContinuousClock.Instant
    ) {
        if hub.isUntried, FilePermission.allows(.read, at: hub.path, peer: peer) {
            hub.openFirst(for: peer.uid, until: end)
        }
    }

    /// How long a call waits for stores that are being opened for it.
    private static let firstOpeningMax = Duration.seconds(2)

    /// Opens all that were left for later and that a caller may read, at the same time.
    private func openUntried(for peer: PeerIdentity) {
        let untried = hubs.filter { $0.isUntried }
        // In the caller's share only their own.
        for hub in untried where hub.owner != peer.uid { hub.retry() }
        let end = ContinuousClock.now + Self.firstOpeningMax
        for hub in untried { openIfUntried(hub, for: peer, until: end) }
    }

    /// What the caller may use of a store; nil: nothing.
    func permitted(
        _ hub: StoreHub, for peer: PeerIdentity, need: FilePermission.Need
    ) -> PermittedStore? {
        // First what is open, then the permission: what is opened later was not checked.
        let opened = try? hub.opened()
        guard let file = FilePermission.file(at: hub.path, for: need, peer: peer) else {
            if let barrier = barrier(before: hub, for: peer) {
                return PermittedStore(hub: hub, openedNow: nil, barrier: barrier)
            }
            let mayForget = mayForget(hub, peer: peer)
            return mayForget ? PermittedStore(hub: hub, openedNow: nil) : nil
        }
        guard let opened, opened.file != file else {
            return PermittedStore(hub: hub, openedNow: opened)
        }
        // The caller may open what is at the path, and that is not what is open here.
        hub.reopenLater()
        return PermittedStore(hub: hub, openedNow: nil, isReplaced: true)
    }

    /// Why the daemon cannot look at a store, for a caller that is told of it.
    private func barrier(before hub: StoreHub, for peer: PeerIdentity) -> SyncError? {
        guard let barrier = PathBarrier(before: hub.path) else { return nil }
        let owner = environment.served.flatMap { $0 == geteuid() ? nil : $0 } ?? hub.owner
        return barrier.isTold(to: peer.uid, owner: owner) ? barrier.error(about: hub.path) : nil
    }

    /// A store whose file is gone has no permissions: root, the daemon's own user and the last
    /// known owner may see and forget it.
    private func mayForget(_ hub: StoreHub, peer: PeerIdentity) -> Bool {
        guard FileIdentity(path: hub.path) == nil else { return false }
        let owner = environment.isWorker ? environment.served ?? hub.owner : hub.owner
        return peer.uid == 0 || peer.uid == geteuid() || peer.uid == owner
    }

    // MARK: Tracking

    /// Tracks a database, opens it and remembers it.
    ///
    /// - Throws: ``SyncError``: `notAllowed`, `noSuchFile`, and what ``Store/track`` throws.
    func track(
        _ entry: Configuration.StoreEntry, for peer: PeerIdentity
    ) throws -> (store: PermittedStore, report: TrackReport) {
        try DatabaseOpener.refuseNUL(in: entry.path)
        guard entry.path.hasPrefix("/") else {
            throw SyncError(
                .invalidArgument, "'\(entry.path)' is not an absolute path",
                hint: "Give the whole path of the database file")
        }
        guard let path = CallerPath.resolved(entry.path, for: peer) else {
            throw Self.mayNotWrite(entry.path, peer: peer)
        }
        try checkMayTrack(path, peer: peer)
        let hub = state.withLock { state in
            if let hub = state.hubs[path] { return hub }
            return StoreHub(
                Configuration.StoreEntry(path: path), path: path, environment: environment)
        }
        try hub.askForTry(isTrusted: peer.uid == 0 || peer.uid == geteuid())
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
            hint: "Ask its owner, who is shown by: ls -l DB; to be let in: setfacl -m "
                + "u:\(peer.uid):rw DB")
    }

    private func checkMayTrack(_ path: String, peer: PeerIdentity) throws {
        if FilePermission.allows(.write, at: path, peer: peer) { return }
        // The caller could come up to this folder itself: nothing is told that it cannot see.
        if let barrier = PathBarrier(before: path),
            FilePermission.reaches(barrier.folder, peer: peer)
        {
            throw barrier.error(about: path)
        }
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
        guard let found = try find(name, for: peer) else { throw Self.unknown(name) }
        if let barrier = found.barrier, !keepsData { throw barrier }
        let hub = found.hub
        let isGone = FileIdentity(path: hub.path) == nil
        guard keepsData || !isGone else {
            throw SyncError(
                .noSuchFile, "the file is not there: nothing can be removed from it",
                path: hub.path,
                hint: "Bring it back, or remove the store from the daemon alone, which leaves "
                    + "history and triggers in the file wherever it is: "
                    + "synctool untrack --forget DB")
        }
        if !isGone, !FilePermission.allows(.write, at: hub.path, peer: peer) {
            throw Self.mayNotWrite(hub.path, peer: peer)
        }
        if !keepsData, !hub.isOpen { try hub.requireRemains() }
        let opened = try? hub.opened()
        let report = try hub.close(Self.forgotten(hub.path)) {
            var report = UntrackReport()
            if !keepsData {
                report = try Store.untrack(hub.path) {
                    try Self.check($0, isAt: hub.path, peer: peer)
                }
            }
            opened?.journal.remove()
            if let opened { hub.consumerOwners.remove(for: opened.file) }
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

    private static func moved(_ path: String) -> SyncError {
        SyncError(
            .unreachable, "another process serves the store now", path: path, hint: "Connect again")
    }

    private static func forgotten(_ path: String) -> SyncError {
        SyncError(
            .unknownStore, "the daemon no longer watches the store", path: path,
            hint: "Track it again: synctool track DB")
    }
}

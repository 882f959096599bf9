import Dispatch
import Foundation
import SyncCore
import Synchronization

/// A workspace in which a program reads and changes objects. Its changes are saved together, or not
/// at all.
///
/// A context is a recursive lock (its gate) and a queue: `perform` runs on the queue,
/// `performAndWait` on the calling thread, and both hold the lock. See docs/object-layer.md,
/// “Confinement”.
///
/// Invariants:
///
/// * There is one object for each identity.
/// * The context retains objects with unsaved changes. It does not retain others, unless
///   ``retainsRegisteredObjects`` is set.
/// * Every change that could alter a cached list of members updates or drops it.
/// * Only the queue of incoming changes and the list of children are used without the gate.
///
/// `@unchecked Sendable`: the queue of incoming changes, the list of children and the event streams
/// have locks of their own; everything else is guarded by the gate.
public final class ManagedObjectContext: @unchecked Sendable {
    /// The queue that a context's own work runs on.
    public enum Concurrency: Sendable {
        /// The main queue.
        case main
        /// A queue of the context's own.
        case `private`
    }

    /// The queue that `perform` runs on.
    public let concurrency: Concurrency
    /// The parent; nil for a context directly on the store.
    public let parent: ManagedObjectContext?
    /// The store of the context and of all its parents.
    public let coordinator: StoreCoordinator
    /// The recursive lock that guards the context and its objects.
    let gate: Gate
    /// Known objects by identity, not retained.
    let registry = ObjectTable()
    /// What the next save writes. All of its objects are in the registry.
    var unsaved = UnsavedChanges()
    /// Members of relationships that were read.
    var memberCache = MemberCache()
    /// What changed since observers were notified last.
    var touched = TouchLog()
    /// Steps that can be undone; nil when undo is off.
    private(set) var undoLog: UndoLog?
    /// The first read error of an access that cannot throw, in the enclosing call that can.
    private(set) var readFailure: ObjectError?
    /// The state of the store that the context is pinned at.
    private(set) var pinned: PinnedSnapshot?
    let eventBroadcast = Broadcast<ContextEvent>()

    /// The store, or the parent.
    private let base: any ObjectSource
    private let queue: DispatchQueue
    private var settings = Settings()
    /// Objects kept in memory without changes; nil unless ``retainsRegisteredObjects`` is set.
    private var retained: Set<ManagedObject>?
    private var lastClass: ClassInfo?
    private var observers: [ObjectIdentifier: WeakObserver] = [:]
    private let incoming = Mutex(ChangeQueue())
    private let children = Mutex<[ObjectIdentifier: WeakContext]>([:])

    private struct Settings {
        var author: String?
        var name: String?
        var mergePolicy = MergePolicy.fail
        var conflictResolver: (@Sendable (MergeConflict) throws -> MergePolicy)?
    }

    private struct ClassInfo {
        let entity: EntityLayout
        let type: ManagedObject.Type
        let origin: ManagedObjectID.Origin
    }

    private struct WeakObserver {
        weak var observer: (any ContextObserver)?
    }

    private struct WeakContext {
        weak var context: ManagedObjectContext?
    }

    init(
        coordinator: StoreCoordinator, concurrency: Concurrency, parent: ManagedObjectContext? = nil
    ) {
        gate = Gate(objects: registry)
        self.coordinator = coordinator
        self.concurrency = concurrency
        self.parent = parent
        base = parent ?? coordinator
        queue =
            concurrency == .main
            ? .main : DispatchQueue(label: "syncd.context", qos: .userInitiated)
        gate.context = self
        base.add(self)
    }

    deinit {
        coordinator.remove(self)
        parent?.removeChild(self)
        eventBroadcast.finish()
    }

    /// Makes a context whose saves go into this one.
    public func makeChild(_ concurrency: Concurrency = .private) -> ManagedObjectContext {
        ManagedObjectContext(
            coordinator: coordinator, concurrency: concurrency, parent: self)
    }

    /// The model of the store.
    public var model: ManagedObjectModel { coordinator.model }

    /// Events of the context from now on. The stream ends with the context.
    public var events: AsyncStream<ContextEvent> { eventBroadcast.stream() }

    // MARK: Settings

    /// The author that the store's history records for saves of this context.
    public var transactionAuthor: String? {
        get { gate.locked { settings.author } }
        set { gate.locked { settings.author = newValue } }
    }

    /// The context's name, which the store's history records.
    public var name: String? {
        get { gate.locked { settings.name } }
        set { gate.locked { settings.name = newValue } }
    }

    /// Which values win when a save finds that others saved the same objects.
    public var mergePolicy: MergePolicy {
        get { gate.locked { settings.mergePolicy } }
        set { gate.locked { settings.mergePolicy = newValue } }
    }

    /// Decides each conflict, in place of ``mergePolicy``. It may change the object's properties
    /// and return a policy that keeps local values. If it throws, nothing is saved.
    public var conflictResolver: (@Sendable (MergeConflict) throws -> MergePolicy)? {
        get { gate.locked { settings.conflictResolver } }
        set { gate.locked { settings.conflictResolver = newValue } }
    }

    /// Keeps known objects in memory, also those without changes that nothing else retains.
    public var retainsRegisteredObjects: Bool {
        get { gate.locked { retained != nil } }
        set { gate.locked { retained = newValue ? Set(registry.objects) : nil } }
    }

    /// Merges what others save without a call of ``mergeChanges()``.
    public var automaticallyMergesChangesFromParent: Bool {
        get { incoming.withLock(\.isAutomatic) }
        set { incoming.withLock { $0.isAutomatic = newValue } }
    }

    /// Changes can be undone. Off by default; turning it off forgets all steps.
    public var isUndoEnabled: Bool {
        get { gate.locked { undoLog != nil } }
        set {
            gate.locked {
                if !newValue { undoLog = nil } else if undoLog == nil { undoLog = UndoLog() }
            }
        }
    }

    // MARK: Work

    /// Runs `body` on the context's queue, as one unit of work.
    ///
    /// - Throws: what `body` throws.
    public func perform<Output: Sendable>(
        _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.performAndWait(body) }) }
        }
    }

    /// Runs `body` on the calling thread, as one unit of work, after the units that are running.
    ///
    /// - Throws: what `body` throws.
    public func performAndWait<Output>(_ body: () throws -> Output) rethrows -> Output {
        try gate.locked {
            if gate.depth == 1 { mergeIncoming() }
            defer { if gate.depth == 1 { processPendingChanges() } }
            return try body()
        }
    }

    // MARK: Classes

    func objectClass(_ entity: EntityLayout) -> ManagedObject.Type { classInfo(entity).type }

    func origin(of entity: EntityLayout) -> ManagedObjectID.Origin { classInfo(entity).origin }

    /// The last answer is kept: a fetch asks for the same entity for each row.
    private func classInfo(_ entity: EntityLayout) -> ClassInfo {
        if let lastClass, lastClass.entity === entity { return lastClass }
        let info = ClassInfo(
            entity: entity,
            type: (entity.description.objectClass as? ManagedObject.Type) ?? ManagedObject.self,
            origin: coordinator.identities.origin(entity.root))
        lastClass = info
        return info
    }

    // MARK: Retaining

    /// Keeps an object in memory where ``retainsRegisteredObjects`` says so.
    func retain(_ object: ManagedObject) { retained?.insert(object) }

    func stopRetaining(_ object: ManagedObject) { retained?.remove(object) }

    func stopRetainingAll() { if retained != nil { retained = [] } }

    // MARK: Reading

    /// Where the context reads and saves.
    var source: any ObjectSource { pinned ?? base }

    /// The incarnation of each key, in the state of the store that the context sees.
    var identities: Identities { pinned?.identities ?? coordinator.identities }

    func setPin(_ snapshot: PinnedSnapshot?) {
        pinned = snapshot
        memberCache.removeAll()
    }

    /// Moves to the present state of the store. Does nothing for a context that is not pinned.
    func movePin() throws {
        guard pinned != nil else { return }
        if isKnownUniquelyReferenced(&pinned) {
            try pinned?.advance()
        } else {
            pinned = try PinnedSnapshot(coordinator)
        }
    }

    /// Refuses a save while another context is pinned at the same state: it would move both.
    func checkPinIsOwn() throws {
        guard pinned != nil, !isKnownUniquelyReferenced(&pinned) else { return }
        throw ObjectError(
            .invalidRequest, "another context is pinned at the same state",
            hint: "Call mergeChanges() or unpin(), check what changed, and save again")
    }

    /// Records the error of an access that cannot throw.
    func note(_ error: any Error, for object: ManagedObject?) {
        let error = Self.readError(error, for: object)
        object?.readFailure = error
        readFailure = readFailure ?? error
        eventBroadcast.send(.readFailed(error))
    }

    static func readError(_ error: any Error, for object: ManagedObject?) -> ObjectError {
        var result =
            error as? ObjectError
            ?? ObjectError(.storeFailure, "\(error)", underlying: error)
        result.object = result.object ?? object?.identity
        result.entity = result.entity ?? object?.entity.name
        return result
    }

    /// Runs `body`, then throws the first error of accesses inside it that cannot throw.
    func strict<Result>(_ body: () throws -> Result) throws -> Result {
        let before = readFailure
        readFailure = nil
        defer { readFailure = before }
        let result = try body()
        if let readFailure { throw readFailure }
        return result
    }

    // MARK: Merging

    /// The delay after which a merge is tried again that could not read the store.
    private static let mergeRetryDelay = DispatchTimeInterval.milliseconds(50)

    private func mergeIncoming() {
        let isPinned = pinned != nil
        let changes = incoming.withLock { queue in
            queue.isAutomatic && !isPinned ? queue.takeAll() : []
        }
        do { try merge(changes) } catch { retryMerging() }
    }

    /// Merges what others saved, also where ``automaticallyMergesChangesFromParent`` is false.
    ///
    /// - Throws: ``ObjectError`` when the store cannot be read; the rest is merged later.
    public func mergeChanges() throws {
        try performAndWait {
            try movePin()
            try merge(incoming.withLock { $0.takeAll() })
        }
    }

    /// Changes that cannot be merged, because the store cannot be read, go back into the queue.
    private func merge(_ changes: [StoreChange]) throws {
        for (index, change) in changes.enumerated() {
            do {
                try strict { try merge(change) }
            } catch {
                incoming.withLock { $0.putBack(changes[index...]) }
                note(error, for: nil)
                throw error
            }
        }
    }

    private func retryMerging() {
        queue.asyncAfter(deadline: .now() + Self.mergeRetryDelay) { [weak self] in
            self?.performAndWait {}
        }
    }

    // MARK: Notifying

    /// Sends a change to the contexts whose parent this is.
    func notifyChildren(_ change: StoreChange, except saver: (any ChangeListener)?) {
        // The references leave the lock: each may be the last one by now, and the `deinit` of a
        // context takes the lock to remove it.
        let contexts = children.withLock { $0.values.compactMap(\.context) }
        for context in contexts where context !== saver { context.receive(change) }
    }

    func addObserver(_ observer: any ContextObserver) {
        observers[ObjectIdentifier(observer)] = WeakObserver(observer: observer)
    }

    func removeObserver(_ id: ObjectIdentifier) { observers[id] = nil }

    /// Notifies observers of what changed since the last notification. Called at the end of each
    /// unit of work.
    public func processPendingChanges() {
        gate.locked {
            undoLog?.closeStep()
            guard !touched.isEmpty else { return }
            let log = touched.take()
            guard !observers.isEmpty || eventBroadcast.hasListeners else { return }
            let objects = log.objects
            for observer in observers.values {
                observer.observer?.contextDidChange(self, touched: objects)
            }
            eventBroadcast.send(
                .didChange(
                    inserted: objects.inserted, updated: objects.updated, deleted: objects.deleted))
        }
    }

    func notifyReset() {
        for observer in observers.values { observer.observer?.contextDidReset(self) }
        eventBroadcast.send(.didReset)
    }
}

extension ManagedObjectContext: ChangeListener {
    func receive(_ change: StoreChange) {
        let isAutomatic = incoming.withLock { queue in
            queue.append(change)
            return queue.isAutomatic
        }
        guard isAutomatic else { return }
        queue.async { [weak self] in self?.performAndWait {} }
    }

    /// Changes in the queue are older than what this context has just saved.
    func didSave(_ change: SavedChange) {
        incoming.withLock { $0.dropRows(writtenBy: change) }
    }

    func addChild(_ listener: any ChangeListener) {
        guard let context = listener as? ManagedObjectContext else { return }
        children.withLock { $0[ObjectIdentifier(context)] = WeakContext(context: context) }
    }

    private func removeChild(_ context: ManagedObjectContext) {
        children.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(context)) }
    }
}

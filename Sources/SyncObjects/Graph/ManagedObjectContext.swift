import Dispatch
import Foundation
import SyncCore
import Synchronization

/// What a context tells about itself.
public enum ContextEvent: Sendable {
    /// Objects changed since the last such event: by this context, or by a merge.
    case didChange(
        inserted: Set<ManagedObjectID>, updated: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>
    )
    /// The context was saved.
    case didSave(
        inserted: Set<ManagedObjectID>, updated: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>
    )
    /// The context forgot its objects.
    case didReset
    /// Something could not be read by an access that cannot throw. Nothing was invented instead.
    case readFailed(ObjectError)
}

/// A room of its own for reading and changing objects, saved as a whole.
///
/// A context is a recursive lock with a queue before it: docs/object-layer.md, “Confinement”.
///
/// Invariants: there is one object for each identity; changed objects are held, unchanged ones only
/// while somebody else holds them; a cached list of members is dropped, or kept in step, by
/// everything that could change it; the inbox alone is touched without the gate.
///
/// `@unchecked Sendable`: everything but the inbox and the listeners, which have locks of their
/// own, is guarded by the gate.
public final class ManagedObjectContext: @unchecked Sendable {
    /// Which queue a context's own work runs on.
    public enum Concurrency: Sendable {
        /// The main queue.
        case main
        /// A queue of its own.
        case `private`
    }

    /// Which queue `perform` runs on.
    public let concurrency: Concurrency
    /// The parent; nil for a context that sits on the store.
    public let parent: ManagedObjectContext?
    /// The store at the end of the line of parents.
    public let coordinator: StoreCoordinator
    /// The store, or the parent.
    let base: any ObjectSource
    var pinned: PinnedSnapshot?
    let gate: Gate
    let queue: DispatchQueue

    /// Who writes: stands in the history of the store.
    public var transactionAuthor: String? {
        get { gate.locked { authorStorage } }
        set { gate.locked { authorStorage = newValue } }
    }
    /// What the context is called: stands in the history of the store.
    public var name: String? {
        get { gate.locked { nameStorage } }
        set { gate.locked { nameStorage = newValue } }
    }
    /// Who wins when a save meets what somebody else saved.
    public var mergePolicy: MergePolicy {
        get { gate.locked { policyStorage } }
        set { gate.locked { policyStorage = newValue } }
    }
    /// Decides conflict by conflict, in place of ``mergePolicy``. It may change the object's
    /// properties (and then let the local ones win), and may throw: then nothing is saved.
    public var conflictResolver: (@Sendable (MergeConflict) throws -> MergePolicy)? {
        get { gate.locked { resolverStorage } }
        set { gate.locked { resolverStorage = newValue } }
    }
    /// Holds objects that nobody else holds and that have no changes.
    public var retainsRegisteredObjects: Bool {
        get { gate.locked { retainsStorage } }
        set {
            gate.locked {
                retainsStorage = newValue
                retained = newValue ? Set(registry.objects) : []
            }
        }
    }
    /// Takes over what others save without being asked.
    public var automaticallyMergesChangesFromParent: Bool {
        get { inbox.withLock(\.isAutomatic) }
        set { inbox.withLock { $0.isAutomatic = newValue } }
    }

    private var authorStorage: String?
    private var nameStorage: String?
    private var policyStorage = MergePolicy.fail
    private var resolverStorage: (@Sendable (MergeConflict) throws -> MergePolicy)?
    /// The policy of the conflict that is being resolved.
    var policyInForce = MergePolicy.fail
    /// Unchanged objects that the next save compares with the store.
    var checked: Set<ManagedObjectID> = []
    var retainsStorage = false
    /// The class that was asked for last: a fetch asks for the same one for each row.
    var lastClass: (entity: EntityLayout, type: ManagedObject.Type, origin: ManagedObjectID.Origin)?
    var retained: Set<ManagedObject> = []

    /// The objects that somebody holds.
    let registry = ObjectTable()
    /// New, edited, and to be deleted objects, held. All of them are in the registry.
    var pending = PendingObjects()
    /// Counts the calls of `processPendingChanges`: what was touched since the last.
    var touchRound = 1
    var deleteCauses: [ManagedObjectID: GoneCause] = [:]
    /// What others saved of objects that are to be deleted. Not these objects' committed values:
    /// that somebody changed what is to be deleted is a conflict of the save. It counts when the
    /// deletion is taken back.
    var overtaken: [ManagedObjectID: [Value]] = [:]
    var memberCache: [MemberKey: [ManagedObjectID]] = [:]
    /// How often the context was saved.
    var saveCount = 0
    var joinEdits: [String: SaveRequest.JoinEdit] = [:]
    var touched = TouchLog()
    var undoLog: UndoLog?
    /// What an access met that cannot throw, since the throwing call around it began.
    var readFailure: ObjectError?
    var observers: [ObjectIdentifier: WeakObserver] = [:]
    private let inbox = Mutex(Inbox())
    private let children = Mutex<[ObjectIdentifier: WeakContext]>([:])
    let eventBroadcast = Broadcast<ContextEvent>()

    struct MemberKey: Hashable {
        let owner: ManagedObjectID
        let relation: String
    }

    struct WeakObserver {
        weak var observer: (any ContextObserver)?
    }

    private struct WeakContext {
        weak var context: ManagedObjectContext?
    }

    private struct Inbox {
        var isAutomatic = true
        var changes: [StoreChange] = []
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
        eventBroadcast.finish()
    }

    /// A context whose saves go into this one.
    public func makeChild(_ concurrency: Concurrency = .private) -> ManagedObjectContext {
        ManagedObjectContext(
            coordinator: coordinator, concurrency: concurrency, parent: self)
    }

    /// The model of the store.
    public var model: ManagedObjectModel { coordinator.model }

    /// What happens in the context from now on. Ends with the context.
    public var events: AsyncStream<ContextEvent> { eventBroadcast.stream() }

    // MARK: Work

    /// Runs `body` on the context's queue, as one unit of work.
    public func perform<Output: Sendable>(
        _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try self.performAndWait(body) }) }
        }
    }

    /// Runs `body` here and now, as one unit of work; waits for those that are under way.
    public func performAndWait<Output>(_ body: () throws -> Output) rethrows -> Output {
        try gate.locked {
            if gate.depth == 1 { takeInbox() }
            defer { if gate.depth == 1 { processPendingChanges() } }
            return try body()
        }
    }

    // MARK: What others saved

    /// How long after a merge that could not read the store the next one comes.
    private static let mergeRetryDelay = DispatchTimeInterval.milliseconds(50)

    func takeInbox() {
        let isPinned = pinned != nil
        let changes = inbox.withLock { inbox -> [StoreChange] in
            guard inbox.isAutomatic, !isPinned else { return [] }
            defer { inbox.changes = [] }
            return inbox.changes
        }
        do { try merge(changes) } catch { retryMerging() }
    }

    /// Takes over what others saved, also when that does not happen by itself.
    ///
    /// - Throws: what the store says; what was not merged is merged later.
    public func mergeChanges() throws {
        try performAndWait {
            try movePin()
            let changes = inbox.withLock { inbox -> [StoreChange] in
                defer { inbox.changes = [] }
                return inbox.changes
            }
            try merge(changes)
        }
    }

    /// What cannot be merged, because the store cannot be read just now, stays first in the inbox.
    private func merge(_ changes: [StoreChange]) throws {
        for (index, change) in changes.enumerated() {
            do {
                try strict { try merge(change) }
            } catch {
                inbox.withLock { $0.changes.insert(contentsOf: changes[index...], at: 0) }
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

    func tellChildren(_ change: StoreChange, except saver: (any ChangeListener)?) {
        let contexts = children.withLock { children in
            children = children.filter { $0.value.context != nil }
            return children.values.compactMap(\.context)
        }
        for context in contexts where context !== saver { context.receive(change) }
    }
}

extension ManagedObjectContext: ChangeListener {
    func receive(_ change: StoreChange) {
        let isAutomatic = inbox.withLock { inbox in
            // One look at everything is enough for all commits until then.
            if !change.unseen.isEmpty {
                for index in inbox.changes.indices {
                    inbox.changes[index].unseen.subtract(change.unseen)
                }
            }
            inbox.changes.append(change)
            return inbox.isAutomatic
        }
        guard isAutomatic else { return }
        queue.async { [weak self] in self?.performAndWait {} }
    }

    /// What still waits in the inbox is older than what this context has just saved, so that rows
    /// which it wrote are not to be taken from there.
    func didSave(_ change: StoreChange) {
        inbox.withLock { inbox in
            guard !inbox.changes.isEmpty else { return }
            let written = Set((change.inserted + change.updated).map(\.id))
            for index in inbox.changes.indices {
                inbox.changes[index].updated.removeAll { written.contains($0.id) }
                inbox.changes[index].inserted.removeAll { written.contains($0.id) }
            }
        }
    }

    func addChild(_ listener: any ChangeListener) {
        guard let context = listener as? ManagedObjectContext else { return }
        children.withLock { $0[ObjectIdentifier(context)] = WeakContext(context: context) }
    }
}

/// Something that follows a context from inside: called with the gate held, after each change.
protocol ContextObserver: AnyObject, Sendable {
    func contextDidChange(
        _ context: ManagedObjectContext, touched: TouchedObjects)
    func contextDidReset(_ context: ManagedObjectContext)
}

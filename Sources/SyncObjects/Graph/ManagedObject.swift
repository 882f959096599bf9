import Foundation
import SyncCore
import Synchronization

/// One object of a store, or one that stays in memory.
///
/// ```swift
/// final class Task: ManagedObject, @unchecked Sendable {
///     @Attribute("title") var title: String?
///     @ToOne("group") var group: Group?
/// }
/// ```
///
/// Invariants: `current` is nil exactly while the object is a fault, and so is `committed` (but for
/// new objects, which have `current` alone). What differs between the two is unsaved. Once the
/// phase is `gone`, `committed` and `current` keep the last known values and the unsaved edits.
///
/// `@unchecked Sendable`: each access takes the gate of its context.
open class ManagedObject: EntityObject, IdentifiedObject, Identifiable, KeyPathNaming,
    @unchecked Sendable
{
    enum Phase { case detached, inserted, live, deletePending, gone }

    /// The entity.
    public let entity: EntityLayout
    let gate: Gate
    var identity: ManagedObjectID
    var committed: [Value]?
    var current: [Value]?
    var faultBatch: FaultBatch?
    private var aside: ObjectAside?
    /// Its number among the changed objects of its context, from 1; 0 for an unchanged object.
    var pendingNumber = 0
    /// The round of the context's change log that noted the object last.
    var touchRound = 0
    var phase: Phase
    /// The last write changed something.
    private var wasChanged = false
    /// It is a probe: it has no values, and records which property a key path reads.
    @usableFromInline final var isProbe = false

    /// Makes an object from a seed. Subclasses inherit this initialiser.
    public required init(_ seed: ObjectSeed) {
        entity = seed.entity
        gate = seed.gate
        identity = seed.id
        phase = seed.phase
        current = seed.values
        committed = seed.phase == .live ? seed.values : nil
    }

    deinit { gate.objects?.remove(self) }

    // MARK: Aside

    var contextReference: ManagedObjectContext? { gate.context }

    private func madeAside() -> ObjectAside {
        if let aside { return aside }
        let new = ObjectAside()
        aside = new
        return new
    }

    var goneDetail: Gone? {
        get { aside?.gone }
        set { if newValue == nil { aside?.gone = nil } else { madeAside().gone = newValue } }
    }

    var readFailure: ObjectError? {
        get { aside?.readFailure }
        set {
            if newValue == nil {
                aside?.readFailure = nil
            } else {
                madeAside().readFailure = newValue
            }
        }
    }

    var prefetched: [ManagedObject] {
        get { aside?.prefetched ?? [] }
        set { madeAside().prefetched = newValue }
    }

    var probe: NameProbe? {
        get { aside?.probe }
        set { madeAside().probe = newValue }
    }

    /// Tells the probe the key path by which the accessor of the next read is known.
    @usableFromInline func noteAccessor(_ keyPath: AnyKeyPath) { probe?.note(keyPath) }

    var lastOutcome: WriteOutcome {
        get { aside?.outcome ?? (wasChanged ? .changed : .unchanged) }
        set {
            switch newValue {
            case .changed: noteWrite(isChange: true)
            case .unchanged: noteWrite(isChange: false)
            case .keptOnGone, .rejected: madeAside().outcome = newValue
            }
        }
    }

    func noteWrite(isChange: Bool) {
        wasChanged = isChange
        aside?.outcome = nil
    }

    // MARK: Identity and state

    /// The identity. Permanent from birth in tables that syncd made.
    public var objectID: ManagedObjectID { gate.locked { identity } }

    /// The identity.
    public var id: WrappedID { .objectID(objectID) }

    /// The context; nil when the object has none, or is gone.
    public var managedObjectContext: ManagedObjectContext? {
        gate.locked { phase == .gone ? nil : contextReference }
    }

    /// The state of the object. Never reads the store.
    public var state: ObjectState {
        gate.locked {
            let isAlone = phase != .detached && phase != .gone && contextReference == nil
            if isAlone { return .gone(Gone(.contextReset)) }
            switch phase {
            case .detached: return .detached
            case .inserted: return .inserted
            case .live: return hasEdits ? .updated : .clean
            case .deletePending: return .deletePending
            case .gone: return .gone(goneDetail ?? Gone(.unknown))
            }
        }
    }

    /// Deleted here and not saved yet, or gone.
    public var isDeleted: Bool { gate.locked { phase == .deletePending || phase == .gone } }

    /// New and not saved yet.
    public var isInserted: Bool { gate.locked { phase == .inserted } }

    /// Its values were not read yet.
    public var isFault: Bool { gate.locked { current == nil } }

    /// Has edits that are not saved, or is new or to be deleted.
    public var hasChanges: Bool {
        gate.locked { phase == .inserted || phase == .deletePending || phase == .live && hasEdits }
    }

    /// What the last write through an accessor did.
    public var lastWrite: WriteOutcome { gate.locked { lastOutcome } }

    var hasEdits: Bool {
        guard let current, let committed else { return false }
        return current != committed
    }

    /// Events of the object from now on. The stream ends with the object.
    public var events: AsyncStream<ObjectEvent> {
        gate.locked {
            if let broadcast = aside?.events { return broadcast.stream() }
            let broadcast = Broadcast<ObjectEvent>()
            madeAside().events = broadcast
            return broadcast.stream()
        }
    }

    func send(_ event: @autoclosure () -> ObjectEvent) { aside?.events?.send(event()) }

    // MARK: Hooks

    /// Called once after the object was made in a context, with its defaults set.
    open func awakeFromInsert() {}
    /// Called after the object's values were read from the store.
    open func awakeFromFetch() {}
    /// Called before a save that would write the object; may still change it.
    open func willSave() {}
    /// Called after a save that wrote the object.
    open func didSave() {}
    /// Called when the object is marked for deletion.
    open func prepareForDeletion() {}
    /// Called before the object forgets its values.
    open func willTurnIntoFault() {}
    /// Called after the object forgot its values.
    open func didTurnIntoFault() {}
    /// Called for a new object before it is saved.
    ///
    /// - Throws: to refuse the save, which reports the error.
    open func validateForInsert() throws {}
    /// Called for a changed object before it is saved.
    ///
    /// - Throws: to refuse the save, which reports the error.
    open func validateForUpdate() throws {}
    /// Called for an object before its deletion is saved.
    ///
    /// - Throws: to refuse the save, which reports the error.
    open func validateForDelete() throws {}
    /// Called for each attribute before a save. May replace the value.
    ///
    /// - Throws: to refuse the save, which reports the error.
    open func validate(_ value: inout (any Sendable)?, forKey key: String) throws {}
}

extension ManagedObject: Hashable {
    /// The same object: within a context there is one for each identity.
    public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }

    /// Hashes which object it is.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject {
    /// Makes an object of `entity`, in `context` or, with nil, in memory alone.
    public convenience init(entity: EntityLayout, insertInto context: ManagedObjectContext?) {
        if let context {
            self.init(context.seed(entity))
            context.adopt(self)
        } else {
            self.init(ManagedObject.detachedSeed(entity))
        }
    }

    /// Makes an object of the entity that has this class.
    ///
    /// - Throws: ``ObjectError/Code/unknownEntity`` when the context's model has none.
    public convenience init(context: ManagedObjectContext) throws {
        self.init(entity: try context.model.entity(for: Self.self), insertInto: context)
    }

    /// Makes an object in memory alone, from a description without model, container or context.
    /// Its relationships are left out.
    ///
    /// - Throws: ``ObjectError/Code/invalidModel``
    public convenience init(detached description: EntityDescription) throws {
        var lone = description
        lone.relationships = []
        lone.parent = nil
        let model = try ManagedObjectModel([lone])
        self.init(entity: try model.entity(lone.name), insertInto: nil)
    }

    static func detachedSeed(_ entity: EntityLayout) -> ObjectSeed {
        let origin = ManagedObjectID.Origin(store: noStore, entity: entity.root)
        return ObjectSeed(
            entity: entity, id: ManagedObjectID(origin, key: detachedKey()), gate: Gate(),
            values: entity.slots.map(\.defaultValue), phase: .detached)
    }

    private static let noStore = UUID()
    private static let detachedCount = Atomic<Int64>(0)

    private static func detachedKey() -> ManagedObjectKey {
        .temporary(detachedCount.add(1, ordering: .relaxed).newValue)
    }
}

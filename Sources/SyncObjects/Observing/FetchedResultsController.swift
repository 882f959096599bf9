import Foundation
import SyncCore

/// The live results of a request: an update for each change that matters, made of immutable arrays.
///
/// Invariants: `entries` is in the order of the sort keys, then of the keys; `sortValues` has the
/// values by which each entry stands where it does, whatever its object says by now. Everything
/// mutable is guarded by the gate of the context.
///
/// Cost: a change of a few objects costs a search each, and moving pointers; the list is read again
/// only when the request has a window or looks at other entities.
///
/// `@unchecked Sendable`: see the invariants.
public final class FetchedResultsController<Object: ManagedObject>: @unchecked Sendable {
    /// The context.
    public let context: ManagedObjectContext
    /// The request.
    public let request: FetchRequest<Object>
    private let bound: ManagedObjectContext.BoundRequest
    private let section: BoundSortKey?
    private let roots: Set<String>
    private let isIncremental: Bool
    private let broadcast = Broadcast<ResultUpdate<Object>>()
    private var entries: [Object] = []
    private var sortValues: [ManagedObjectID: [Value]] = [:]
    private var current: ResultSnapshot<Object>?
    /// Why the last look failed: the results are those of the look before.
    private var failure: ObjectError?

    /// Makes a controller; ``performFetch()`` starts it.
    ///
    /// - Parameter sectionKey: The property that divides the results; the first sort key, so that
    ///   the sections are in the order of the sort.
    /// - Throws: ``ObjectError/Code/invalidRequest`` without an order, or with sections in another
    ///   one.
    public init(
        _ request: FetchRequest<Object>, context: ManagedObjectContext, sectionKey: String? = nil
    ) throws {
        guard let first = request.sortKeys.first else {
            throw ObjectError(.invalidRequest, "live results need an order", hint: "Give a SortKey")
        }
        if let sectionKey, first.path.joined(separator: ".") != sectionKey {
            throw ObjectError(
                .invalidRequest, "sections follow the order, and that begins with another property",
                hint: "Sort by “\(sectionKey)” first")
        }
        self.context = context
        self.request = request
        bound = try context.bind(request)
        section = sectionKey == nil ? nil : bound.query.sort.first
        var visited = bound.query.predicate?.visited ?? []
        for key in bound.query.sort { visited.formUnion(key.term.visited) }
        roots = visited.union([bound.query.entity.root])
        isIncremental =
            visited.isEmpty && bound.query.limit == nil && bound.query.offset == 0
            && request.includesPendingChanges && request.batchSize == 0
    }

    deinit {
        let key = ObjectIdentifier(self)
        context.gate.locked { _ = context.observers.removeValue(forKey: key) }
        broadcast.finish()
    }

    /// The results; nil before the first fetch and after a reset of the context.
    public var snapshot: ResultSnapshot<Object>? { context.gate.locked { current } }

    /// Why the results are not those of now: the last look could not read the store. Nil when all
    /// is well; the next change, and ``performFetch()``, look again.
    public var lastError: ObjectError? { context.gate.locked { failure } }

    /// Updates from now on; the first is the present results. Ends with the controller or the
    /// context's reset.
    public var updates: AsyncStream<ResultUpdate<Object>> {
        context.gate.locked {
            let stream = broadcast.stream()
            guard let current else { return stream }
            let initial = update(from: nil, to: current, changed: [])
            return AsyncStream { continuation in
                continuation.yield(initial)
                let task = Task {
                    for await update in stream { continuation.yield(update) }
                    continuation.finish()
                }
                continuation.onTermination = { _ in task.cancel() }
            }
        }
    }

    /// Reads the results, and follows them from now on.
    @discardableResult
    public func performFetch() throws -> ResultSnapshot<Object> {
        try context.performAndWait {
            context.observers[ObjectIdentifier(self)] = .init(observer: self)
            try context.strict { try refetch() }
            failure = nil
            let snapshot = makeSnapshot()
            let former = current
            current = snapshot
            let update = update(from: former, to: snapshot, changed: [])
            if former == nil || update.changesIDs { broadcast.send(update) }
            return snapshot
        }
    }

    private func refetch() throws {
        entries = try context.fetch(bound).compactMap { $0 as? Object }
        sortValues = Dictionary(
            entries.map { ($0.identity, values($0)) }, uniquingKeysWith: { first, _ in first })
    }

    private func values(_ object: Object) -> [Value] { bound.query.sort.map { $0.value(object) } }

    // MARK: Changes

    private func apply(_ touched: ManagedObjectContext.TouchedObjects) throws {
        let changed = touched.updated.union(touched.inserted).union(touched.deleted)
        guard touched.unseen.isDisjoint(with: roots), isIncremental, failure == nil else {
            return try refetch()
        }
        let own = changed.filter { $0.entity == bound.query.entity.root }
        guard own.count < max(64, entries.count / 4) else { return try refetch() }
        for id in own {
            if let values = sortValues.removeValue(forKey: id), let place = place(of: id, values) {
                entries.remove(at: place)
            }
        }
        for object in try present(own) where context.matches(object, bound.query) {
            let values = values(object)
            sortValues[object.identity] = values
            entries.insert(object, at: lowerBound(values, object.identity.key))
        }
    }

    /// The touched objects that are there, read where the context does not know them.
    private func present(_ ids: Set<ManagedObjectID>) throws -> [Object] {
        var objects: [ManagedObject] = []
        var unknown: [ManagedObjectKey] = []
        for id in ids {
            if let object = context.pending[id] ?? context.registry[id]?.object {
                if object.current == nil { try context.fulfill(object) }
                if object.phase == .live || object.phase == .inserted { objects.append(object) }
            } else {
                unknown.append(id.key)
            }
        }
        if !unknown.isEmpty {
            var query = bound.query
            query.keys = unknown
            query.sort = []
            objects += try context.source.rows(query).map { context.object(for: $0) }
        }
        return objects.compactMap { $0 as? Object }
    }

    private func place(of id: ManagedObjectID, _ values: [Value]) -> Int? {
        let place = lowerBound(values, id.key, of: id)
        guard place < entries.count, entries[place].identity == id else {
            return entries.firstIndex { $0.identity == id }
        }
        return place
    }

    /// The first place whose entry does not come before these values and this key.
    private func lowerBound(
        _ values: [Value], _ key: ManagedObjectKey, of id: ManagedObjectID? = nil
    ) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            let other = entries[middle].identity
            let isBefore: Bool
            if other == id {
                isBefore = false
            } else {
                isBefore = precedes(sortValues[other] ?? [], other.key, values, key)
            }
            if isBefore { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func precedes(
        _ left: [Value], _ leftKey: ManagedObjectKey, _ right: [Value], _ rightKey: ManagedObjectKey
    ) -> Bool {
        for (index, key) in bound.query.sort.enumerated() where index < left.count {
            let order = key.order(left[index], right[index])
            if order != 0 { return order < 0 }
        }
        return ManagedObjectContext.precedes(leftKey, rightKey)
    }

    // MARK: Snapshots

    private func makeSnapshot() -> ResultSnapshot<Object> {
        let ids = entries.map(\.identity)
        var sections: [ResultSnapshot<Object>.Section] = []
        if section != nil {
            var start = 0
            for place in entries.indices {
                let value = sortValues[ids[place]]?.first ?? .null
                let next = place + 1 < entries.count ? sortValues[ids[place + 1]]?.first : nil
                guard next != value else { continue }
                sections.append(
                    .init(name: Self.name(value), offset: start, count: place + 1 - start))
                start = place + 1
            }
        }
        return ResultSnapshot(objects: entries, ids: ids, sections: sections)
    }

    private static func name(_ value: Value) -> String {
        switch value {
        case .null: return ""
        case .integer(let number): return String(number)
        case .real(let number): return String(number)
        case .text(let text): return text
        case .blob: return value.description
        }
    }

    private func update(
        from old: ResultSnapshot<Object>?, to new: ResultSnapshot<Object>,
        changed: Set<ManagedObjectID>
    ) -> ResultUpdate<Object> {
        let oldIDs = old?.ids ?? []
        guard oldIDs != new.ids else {
            return ResultUpdate(
                snapshot: new, isInitial: old == nil, inserted: [], removed: [], moved: [],
                reconfigured: new.ids.filter(changed.contains))
        }
        let oldPlaces = Dictionary(
            oldIDs.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let newPlaces = Dictionary(
            new.ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let stayed = new.ids.compactMap { id in oldPlaces[id].map { (id, $0) } }
        let inPlace = ListOrder.increasing(stayed.map(\.1))
        var moved: [ResultUpdate<Object>.Move] = []
        for (index, item) in stayed.enumerated() where !inPlace.contains(index) {
            moved.append(.init(id: item.0, from: item.1, to: newPlaces[item.0] ?? 0))
        }
        let movedIDs = Set(moved.map(\.id))
        return ResultUpdate(
            snapshot: new, isInitial: old == nil,
            inserted: new.ids.enumerated().filter { oldPlaces[$1] == nil }.map { ($1, $0) },
            removed: oldIDs.enumerated().filter { newPlaces[$1] == nil }.map { ($1, $0) },
            moved: moved,
            reconfigured: stayed.map(\.0).filter { changed.contains($0) && !movedIDs.contains($0) })
    }
}

extension FetchedResultsController: ContextObserver {
    func contextDidChange(
        _ context: ManagedObjectContext, _ touched: ManagedObjectContext.TouchedObjects
    ) {
        guard let former = current else { return }
        let changed = touched.updated.union(touched.inserted).union(touched.deleted)
        let concerns =
            failure != nil || !touched.unseen.isDisjoint(with: roots)
            || changed.contains { roots.contains($0.entity) }
        guard concerns else { return }
        do {
            try context.strict { try apply(touched) }
            failure = nil
        } catch {
            failure = ManagedObjectContext.readError(error, nil)
            return context.note(error, nil)
        }
        let snapshot = makeSnapshot()
        let update = update(from: former, to: snapshot, changed: changed)
        let isSame =
            !update.changesIDs && update.reconfigured.isEmpty
            && former.sections == snapshot.sections
        guard !isSame else { return }
        current = snapshot
        broadcast.send(update)
    }

    func contextDidReset(_ context: ManagedObjectContext) {
        current = nil
        entries = []
        sortValues = [:]
        broadcast.finish()
    }
}

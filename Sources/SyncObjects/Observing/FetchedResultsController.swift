import Foundation
import SyncCore

/// The live results of a request: an update of immutable arrays for each relevant change.
///
/// Invariants: `entries` is in the order of the sort keys, then of the keys; `sortValues` has the
/// values by which each entry was placed, which may be older than those of its object. Everything
/// mutable is guarded by the gate of the context.
///
/// Cost: a change of a few objects costs a search each, and moving pointers; the list is read again
/// only when the request has a limit or an offset or refers to other entities.
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
    /// The identities of `entries`.
    private var ids: [ManagedObjectID] = []
    private var sortValues: [ManagedObjectID: [Value]] = [:]
    private var current: ResultSnapshot<Object>?
    /// Why the last read failed; the results are those of the read before.
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
            throw ObjectError(
                .invalidRequest, "live results need a sort order", hint: "Add a SortKey")
        }
        if let sectionKey, first.path.joined(separator: ".") != sectionKey {
            throw ObjectError(
                .invalidRequest, "the sort order does not begin with the section key",
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
        context.gate.locked { context.removeObserver(key) }
        broadcast.finish()
    }

    /// The results; nil before the first fetch and after a reset of the context.
    public var snapshot: ResultSnapshot<Object>? { context.gate.locked { current } }

    /// Why the results may be out of date: the store could not be read. Nil when there are no
    /// problems. The next change and ``performFetch()`` read again.
    public var lastError: ObjectError? { context.gate.locked { failure } }

    /// Updates from now on; the first is the present results. Ends with the controller or the
    /// context's reset.
    public var updates: AsyncStream<ResultUpdate<Object>> {
        context.gate.locked {
            let stream = broadcast.stream()
            guard let current else { return stream }
            let initial = ResultUpdate(from: nil, to: current, changed: [])
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
    ///
    /// - Throws: ``ObjectError`` when the store cannot be read; the results stay as they were.
    /// - Complexity: O(rows)
    @discardableResult
    public func performFetch() throws -> ResultSnapshot<Object> {
        try context.performAndWait {
            context.addObserver(self)
            try context.strict { try refetch() }
            failure = nil
            let snapshot = makeSnapshot()
            let former = current
            current = snapshot
            let update = ResultUpdate(from: former, to: snapshot, changed: [])
            if former == nil || update.changesIDs { broadcast.send(update) }
            return snapshot
        }
    }

    private func refetch() throws {
        entries = try context.fetch(bound).compactMap { $0 as? Object }
        sortValues = Dictionary(
            entries.map { ($0.identity, values($0)) }, uniquingKeysWith: { first, _ in first })
        // Others may have written what the context has not merged yet: then the rows are in the
        // order of values that are not shown. Places are found by those that are.
        if isIncremental, !isSorted { entries.sort { precedes($0, before: $1) } }
        ids = entries.map(\.identity)
    }

    private var isSorted: Bool {
        zip(entries, entries.dropFirst()).allSatisfy { !precedes($1, before: $0) }
    }

    private func precedes(_ left: Object, before right: Object) -> Bool {
        precedes(
            sortValues[left.identity] ?? [], key: left.identity.key,
            before: sortValues[right.identity] ?? [], otherKey: right.identity.key)
    }

    private func values(_ object: Object) -> [Value] { bound.query.sort.map { $0.value(object) } }

    // MARK: Changes

    /// Moves touched objects to their places, and returns what changed; nil when the list was read
    /// again, so that the two lists must be compared.
    ///
    /// - Complexity: O(touched · log n), and moving pointers where places change.
    private func apply(
        _ touched: TouchedObjects
    ) throws -> ResultChanges? {
        let changed = touched.updated.union(touched.inserted).union(touched.deleted)
        let own = changed.filter { $0.entity == bound.query.entity.root }
        guard touched.unknown.isDisjoint(with: roots), isIncremental, failure == nil,
            own.count < max(64, entries.count / 4)
        else {
            try refetch()
            return nil
        }
        var changes = ResultChanges()
        let objects = try present(own).filter { context.matches($0, query: bound.query) }
        var stays: [ManagedObjectID: [Value]] = [:]
        for object in objects { stays[object.identity] = values(object) }
        // An entry whose sort values are unchanged keeps its place.
        var leaving: [(id: ManagedObjectID, place: Int)] = []
        for id in own {
            guard let former = sortValues[id], let place = place(of: id, values: former) else {
                continue
            }
            changes.former[id] = place
            if stays[id] == former, entries[place] === context.registry[id] {
                changes.kept.append(id)
                stays[id] = nil
            } else {
                leaving.append((id, place))
            }
        }
        for (id, place) in leaving.sorted(by: { $0.place > $1.place }) {
            entries.remove(at: place)
            ids.remove(at: place)
            sortValues[id] = nil
        }
        var arriving: [ManagedObjectID] = []
        for object in objects {
            guard let values = stays[object.identity] else { continue }
            sortValues[object.identity] = values
            let place = lowerBound(values: values, key: object.identity.key)
            entries.insert(object, at: place)
            ids.insert(object.identity, at: place)
            arriving.append(object.identity)
        }
        for id in arriving {
            changes.present[id] = sortValues[id].flatMap { place(of: id, values: $0) }
        }
        return changes
    }

    /// The touched objects that exist. Those that the context does not know are read.
    private func present(_ ids: Set<ManagedObjectID>) throws -> [Object] {
        var objects: [ManagedObject] = []
        var unknown: [ManagedObjectKey] = []
        for id in ids {
            if let object = context.registry[id] {
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

    private func place(of id: ManagedObjectID, values: [Value]) -> Int? {
        let place = lowerBound(values: values, key: id.key, of: id)
        guard place < entries.count, entries[place].identity == id else {
            return entries.firstIndex { $0.identity == id }
        }
        return place
    }

    /// The first place whose entry does not come before these values and this key.
    private func lowerBound(
        values: [Value], key: ManagedObjectKey, of id: ManagedObjectID? = nil
    ) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            let other = entries[middle].identity
            let isBefore: Bool
            if other == id {
                isBefore = false
            } else {
                isBefore = precedes(
                    sortValues[other] ?? [], key: other.key, before: values, otherKey: key)
            }
            if isBefore { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func precedes(
        _ left: [Value], key leftKey: ManagedObjectKey, before right: [Value],
        otherKey rightKey: ManagedObjectKey
    ) -> Bool {
        for (index, key) in bound.query.sort.enumerated() where index < left.count {
            let order = key.order(of: left[index], and: right[index])
            if order != 0 { return order < 0 }
        }
        return ManagedObjectContext.precedes(leftKey, before: rightKey)
    }

    // MARK: Snapshots

    private func makeSnapshot() -> ResultSnapshot<Object> {
        ResultSnapshot(objects: entries, ids: ids, sections: section == nil ? [] : sections())
    }

    /// The runs of equal values of the first sort key, found by halving: the order is that of the
    /// sections.
    ///
    /// - Complexity: O(sections · log n)
    private func sections() -> [ResultSnapshot<Object>.Section] {
        var sections: [ResultSnapshot<Object>.Section] = []
        var start = 0
        let value = { (place: Int) in self.sortValues[self.ids[place]]?.first ?? .null }
        while start < ids.count {
            let own = value(start)
            var (low, high, step) = (start, ids.count, 1)
            while low + step < ids.count, value(low + step) == own {
                low += step
                step *= 2
            }
            high = min(ids.count, low + step)
            while low + 1 < high {
                let middle = (low + high) / 2
                if value(middle) == own { low = middle } else { high = middle }
            }
            sections.append(
                .init(name: ResultSection.name(own), offset: start, count: low + 1 - start))
            start = low + 1
        }
        return sections
    }
}

extension FetchedResultsController: ContextObserver {
    func contextDidChange(
        _ context: ManagedObjectContext, touched: TouchedObjects
    ) {
        guard let former = current else { return }
        let changed = touched.updated.union(touched.inserted).union(touched.deleted)
        let concerns =
            failure != nil || !touched.unknown.isDisjoint(with: roots)
            || changed.contains { roots.contains($0.entity) }
        guard concerns else { return }
        var changes: ResultChanges?
        do {
            changes = try context.strict { try apply(touched) }
            failure = nil
        } catch {
            failure = ManagedObjectContext.readError(error, for: nil)
            return context.note(error, for: nil)
        }
        if let changes, changes.isEmpty { return }
        let snapshot = makeSnapshot()
        let update =
            changes.map { ResultUpdate($0, to: snapshot) }
            ?? ResultUpdate(from: former, to: snapshot, changed: changed)
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
        ids = []
        sortValues = [:]
        broadcast.finish()
    }
}

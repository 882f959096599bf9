import SyncMerge
import SyncValues

/// Records facts that a person decided, as a transaction of this replica, and shows what follows
/// from them.
///
/// Invariant: the facts are recorded on top of a view of everything that is unresolved, so that
/// they overwrite exactly what the person saw.
struct AuthoredRecording {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    let author: String?
    let context: String?

    /// - Parameters:
    ///   - author: the author of the decision, for history.
    ///   - context: the occasion, for history.
    init(_ transaction: MergeTransaction, author: String?, context: String?) {
        self.transaction = transaction
        storage = transaction.storage
        self.author = author
        self.context = context
    }

    /// Records facts.
    /// - Parameters:
    ///   - objects: what they are about, besides everything that is unresolved.
    ///   - body: records them; gets the present view.
    /// - Returns: what is shown with them.
    /// - Throws: what `body` throws; as ``RegionUpdate/show(_:transactions:hints:adding:)``.
    /// - Complexity: O(objects, and what is unresolved)
    @discardableResult
    func record(
        about objects: [ObjectUID], _ body: (inout FactRecorder, View) throws -> Void
    ) throws -> RegionUpdate.Result {
        let (loader, recorder) = try recorded(about: objects, body)
        return try show(recorder, on: loader)
    }

    /// Records facts, as ``record(about:_:)``; where there are none, nothing is stated.
    /// - Throws: as ``record(about:_:)``.
    /// - Complexity: O(objects, and what is unresolved)
    func recordUnlessEmpty(
        about objects: [ObjectUID], _ body: (inout FactRecorder, View) throws -> Void
    ) throws {
        let (loader, recorder) = try recorded(about: objects, body)
        if !recorder.facts.isEmpty { _ = try show(recorder, on: loader) }
    }

    private func recorded(
        about objects: [ObjectUID], _ body: (inout FactRecorder, View) throws -> Void
    ) throws -> (loader: RegionLoader, recorder: FactRecorder) {
        let (dot, time) = transaction.nextTransaction()
        let loader = try RegionLoader(storage)
        try loader.add(objects)
        let region = try completed(loader)
        var recorder = FactRecorder(region.state, dot: dot, time: time)
        try body(&recorder, View(region.state))
        return (loader, recorder)
    }

    private func show(
        _ recorder: FactRecorder, on loader: RegionLoader
    ) throws -> RegionUpdate.Result {
        var entry = Batch.Transaction(recorder.header, author: author, context: context)
        entry.changes = recorder.changes
        try transaction.append(entry)
        return try RegionUpdate(transaction).show(loader, transactions: [entry]) { state in
            state.insert(recorder.header)
            for fact in recorder.facts { state.insert(fact) }
        }
    }

    /// What is current and not shown.
    /// - Throws: `internalFault`; SQLite errors.
    /// - Complexity: O(what is unresolved)
    func openConflicts() throws -> [VersionID: Conflict] {
        let loader = try RegionLoader(storage)
        try loader.add(try disputedObjects())
        return View(try completed(loader).state).conflicts
    }

    /// The objects with an open conflict.
    /// - Throws: SQLite errors; `corrupt`.
    /// - Complexity: O(open conflicts)
    func disputedObjects() throws -> [ObjectUID] {
        Set(try storage.conflicts.open().map(\.object)).sorted()
    }

    /// The region of a loader with everything that its view needs.
    private func completed(_ loader: RegionLoader) throws -> AffectedRegion {
        for _ in 0..<RegionUpdate.roundsMax {
            let view = View(loader.region.state)
            let image = try storage.image(of: view, in: loader.region)
            let isNew = try loader.loadMissing(
                for: loader.region.state, view: view, image: image)
            if !isNew { return loader.region }
        }
        throw SyncError(.internalFault, "the region of the conflicts does not end")
    }
}

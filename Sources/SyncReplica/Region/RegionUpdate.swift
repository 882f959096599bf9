import SyncCore
import SyncMerge
import SyncValues

/// Adds facts to the state of a region, and writes what follows from them: the rows of the user's
/// tables, history, the records of the objects and the conflict log.
///
/// Invariant: after each method the tables are the image of the view of the stored state.
struct RegionUpdate {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    /// Rounds in which a region may grow: a chain of rows that refer to each other is walked one
    /// row a round. After these everything is loaded.
    static let roundsMax = 20

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    private var schema: ReplicaSchema { storage.schema }

    /// Shows the whole store again after its view has changed: by other policies, or by tables that
    /// were created again.
    /// - Throws: as ``show(_:transactions:hints:beside:adding:)``.
    /// - Complexity: O(rows and facts of the store), in memory.
    func showAll() throws {
        try show(try RegionLoader.everything(in: storage), transactions: []) { _ in }
    }

    /// What was shown.
    struct Result {
        let state: MergeState
        let view: View
        /// How the rows of the tables changed.
        let differences: [RowKey: RowDifference]
    }

    /// Gives other numbers to the rows that lost theirs by what was recorded here.
    /// - Parameter view: the view that was stored.
    /// - Throws: as ``show(_:transactions:hints:beside:adding:)``.
    /// - Complexity: O(unresolved objects)
    func renumber(after view: View) throws {
        guard !view.lostNumbers.isEmpty, try !Renumbering(transaction).rows(of: view).isEmpty else {
            return
        }
        _ = try show(try RegionLoader(storage), transactions: []) { _ in }
    }

    /// Shows the view of a state with more facts.
    /// - Parameters:
    ///   - loader: what may change; more is loaded as needed.
    ///   - transactions: the merged transactions, for history.
    ///   - hints: the private numbers that objects have at the sender of a batch.
    ///   - lane: what the fast lane has merged of these transactions.
    ///   - add: adds the facts to the state of the region; called once in each round.
    /// - Throws: `refused` when a constraint that merging does not know forbids a row;
    ///   `internalFault`; SQLite errors. The transaction has to be rolled back then.
    /// - Complexity: O(objects of the region)
    @discardableResult
    func show(
        _ loader: RegionLoader, transactions: [Batch.Transaction],
        hints: [ObjectUID: Int64] = [:], beside lane: ChangesBeside? = nil,
        adding add: (inout MergeState) throws -> Void
    ) throws -> Result {
        var loader = loader
        let renumbering = try Renumbering(transaction)
        var withheld: Set<ObjectUID> = []
        var (state, view) = try shown(loader, renumbering, withholding: withheld, adding: add)
        var image = try draft(of: view, state, in: loader.region, hints: hints)
        var rounds = 0
        while try loader.loadMissing(for: state, view: view, image: image)
            || Self.withhold(image.unfit, of: view, in: loader.region, &withheld)
            || hasReplacedLooseNumbers(by: renumbering, in: image, of: view, loader)
        {
            rounds += 1
            if rounds == Self.roundsMax { loader = try RegionLoader.everything(in: storage) }
            guard rounds < 2 * Self.roundsMax else {
                throw SyncError(.internalFault, "the region of a merge does not end")
            }
            (state, view) = try shown(loader, renumbering, withholding: withheld, adding: add)
            image = try draft(of: view, state, in: loader.region, hints: hints)
        }
        try image.requireOneRowForEachKey()
        try image.requireAllSpelled()
        let region = loader.region
        let replaced = replaced(in: region, by: image, of: view)
        let differences = TableWriter.differences(
            from: region.rows, to: image.rows, replaced: replaced)
        let writer = TableWriter(
            schema, statements: storage.statements, triggers: storage.triggers)
        try writer.write(differences)
        let sequences = NumberSequences(schema, statements: storage.statements)
        try sequences.raise(to: hints) { state.objects[$0]?.entity }
        try sequences.raise(toClaimsOf: state)
        let after = Self.keys(of: image.names)
        let renumbered = renumbering.entry
        if let renumbered { try transaction.append(renumbered) }
        // First in history: a row has left its old number before another row gets it.
        var moves = moves(from: region, to: view, keys: after, by: renumbering)
        for key in replaced { moves.add(from: key, to: nil) }
        try history(from: region, to: view, keys: after, moves: moves).write(
            [renumbered].compactMap { $0 } + transactions, differences: differences, beside: lane)
        try lane?.writeConflicts()
        try store(region, state: state, view: view, keys: after, hints: hints)
        try renumbering.writeConflicts(keys: after)
        try StateVerifier(transaction).verify(after: "a merge")
        return Result(state: state, view: view, differences: differences)
    }

    /// The state and the view with more facts, and with those that renumber rows.
    private func shown(
        _ loader: RegionLoader, _ renumbering: Renumbering, withholding withheld: Set<ObjectUID>,
        adding add: (inout MergeState) throws -> Void
    ) throws -> (state: MergeState, view: View) {
        var state = loader.region.state
        state.withheld = withheld
        try add(&state)
        let view = View(state)
        guard let numbered = try renumbering.state(after: state, view: view) else {
            return (state, view)
        }
        return (numbered, View(numbered))
    }

    private func draft(
        of view: View, _ state: MergeState, in region: AffectedRegion,
        hints: [ObjectUID: Int64]
    ) throws -> TableImage {
        try storage.draft(of: view, in: region, hints: hints) { uid in
            guard region.objects[uid] != nil, let record = state.objects[uid] else {
                return false
            }
            return StoredObject.State(of: uid, record: record, in: state, view: view) == .gone
        }
    }

    /// Withholds the objects of rows that cannot be shown; not those that have a row now.
    /// - Returns: whether there are any that were not withheld.
    private static func withhold(
        _ unfit: Set<ObjectUID>, of view: View, in region: AffectedRegion,
        _ withheld: inout Set<ObjectUID>
    ) -> Bool {
        let count = withheld.count
        for name in unfit {
            let members = view.rows[name]?.members ?? []
            withheld.formUnion(members.filter { region.row(of: $0) == nil })
        }
        return withheld.count > count
    }

    /// Whether numbers in place of references had to give way, or references to be restored: then
    /// their rows are in the region, and the view has to be computed again.
    private func hasReplacedLooseNumbers(
        by renumbering: Renumbering, in image: TableImage, of view: View, _ loader: RegionLoader
    ) throws -> Bool {
        var rows = renumbering.replaceLooseNumbers(in: image, of: view)
        if rows.isEmpty { rows = try renumbering.restoreReferences(of: view, in: loader.region) }
        try loader.add(rows)
        return !rows.isEmpty
    }

    private func history(
        from region: AffectedRegion, to view: View, keys after: [ObjectUID: [Value]],
        moves: KeyMoves
    ) -> MergedHistory {
        let before = Self.keys(of: region.names)
        lazy var former = View(region.state)
        return MergedHistory(
            schema: schema, history: storage.history, replica: transaction.identity.replica,
            wall: transaction.environment.wall(),
            moves: moves,
            before: { uid in
                // A plain row shows one object; a new object had no row.
                guard let object = region.objects[uid] else { return nil }
                if object.state == .plain { return before[uid] }
                return former.shownAs[uid].flatMap { before[$0] }
            },
            after: { view.shownAs[$0].flatMap { after[$0] } })
    }

    /// The private numbers of rows that are gone, and that new rows have now.
    private func replaced(
        in region: AffectedRegion, by image: TableImage, of view: View
    ) -> [RowKey] {
        region.names.filter { key, name in
            schema.merge.entities[key.entity].hasPrivateNumbers && view.shownAs[name] == nil
                && image.names[key] != nil
        }.map(\.key)
    }

    /// The rows that have another number than before: a shared one, or one in their keys that
    /// refers to nothing.
    private func moves(
        from region: AffectedRegion, to view: View, keys after: [ObjectUID: [Value]],
        by renumbering: Renumbering
    ) -> KeyMoves {
        var moves = KeyMoves()
        guard schema.merge.sharesNumbers || renumbering.entry != nil else { return moves }
        for (key, name) in region.names
        where schema.merge.entities[key.entity].sharesNumbers
            || renumbering.hasReplacedLooseNumber(of: name)
        {
            let new = view.shownAs[name].flatMap { after[$0] }
            moves.add(from: key, to: new.map { schema.merge.key(key.entity, $0) })
        }
        return moves
    }

    private static func keys(of names: [RowKey: ObjectUID]) -> [ObjectUID: [Value]] {
        var keys: [ObjectUID: [Value]] = [:]
        for (key, name) in names { keys[name] = key.values }
        return keys
    }

    // MARK: Records

    /// Stores what has changed of a region whose rows are in the tables already.
    /// - Parameters:
    ///   - region: as it is stored.
    ///   - state: the state that takes its place.
    ///   - view: the view of `state`.
    ///   - keys: the key of each row of the view, by the identity that it is shown under.
    ///   - hints: the private numbers that objects have at the sender of a batch.
    /// - Throws: SQLite errors.
    /// - Complexity: O(objects of the state)
    func store(
        _ region: AffectedRegion, state: MergeState, view: View, keys: [ObjectUID: [Value]],
        hints: [ObjectUID: Int64] = [:]
    ) throws {
        var changed: [(ObjectUID, StoredObject)] = []
        // Numbers that rows get here, which those that had them in this region lose.
        var given: Set<RowKey> = []
        for (uid, record) in state.objects {
            var object =
                region.objects[uid]
                ?? StoredObject(record: record, key: nil, number: nil, state: .plain, place: 0)
            if object.record != record || object.place == 0 {
                object.record = record
                object.place = max(
                    object.place, transaction.position(ofNewest: record.dots))
            }
            object.key = keys[uid]
            if state.schema.entities[record.entity].isPrivate, let key = object.key,
                case .integer(let number) = key[0]
            {
                if object.number != number {
                    try storage.objects.takeNumber(number, entity: record.entity, for: uid)
                    given.insert(RowKey(entity: record.entity, key))
                }
                object.number = number
            }
            object.state = StoredObject.State(of: uid, record: record, in: state, view: view)
            if region.objects[uid] != object { changed.append((uid, object)) }
        }
        transaction.environment.tally.count(region: changed.count)
        for (uid, object) in changed.sorted(by: { $0.0 < $1.0 }) {
            try storage.objects.write(
                withFreeNumber(object, uid: uid, besides: given), uid: uid,
                replacing: region.objects[uid])
        }
        for (alias, dot) in state.aliases where region.state.aliases[alias] != dot {
            try storage.objects.write(alias, dot: dot, replacing: region.state.aliases[alias])
        }
        try storage.conflicts.update(
            from: view, of: state, keys: keys,
            formerKey: { uid in
                let object = region.objects[uid]
                return object?.key ?? (object?.number ?? hints[uid]).map { [.integer($0)] }
            }, number: storage.history.head)
    }

    /// A hidden object keeps the reservation of its number unless a row has taken it.
    private func withFreeNumber(
        _ object: StoredObject, uid: ObjectUID, besides given: Set<RowKey>
    ) throws -> StoredObject {
        guard object.key == nil, let number = object.number else { return object }
        let key = RowKey(entity: object.record.entity, [.integer(number)])
        if !given.contains(key) {
            guard let holder = try storage.objects.uid(of: key), holder != uid else {
                return object
            }
        }
        var object = object
        object.number = nil
        return object
    }
}

import SyncMerge
import SyncValues

/// Checks ``LaneRules`` against the general lane: for simulations
/// (``MergeEnvironment/isCheckingLane``).
///
/// The fast lane writes what it may take before the general lane merges the rest. So, of each slice
/// - the facts of the eligible objects alone show each of these as it is stated, alone, with its
///   newest versions, under the number of the sender, and change no other row;
/// - the facts of the whole slice show each of them so, too: the general lane does not write again
///   what the fast lane has written;
/// - where every object is eligible, the general lane changes the rows of these, and no other.
struct LaneVerifier {
    private let transaction: MergeTransaction
    private let slice: LaneSlice
    private let decision: LaneRules.Decision
    /// The rows that the eligible objects change by themselves.
    private var changed: Set<RowKey> = []

    private var schema: MergeSchema { transaction.schema.merge }

    /// Decides, before anything of a slice is written, and checks the eligible objects alone.
    /// - Parameters:
    ///   - merged: what was merged before it.
    ///   - numbers: the private numbers that objects have at the sender.
    ///   - hasGaps: whether it takes away what is here, beside what its facts say.
    /// - Returns: nil where the environment does not ask for it.
    /// - Throws: `internalFault` naming an object that the rules should have refused; SQLite
    ///   errors.
    /// - Complexity: O(objects of the region)
    init?(
        of delta: Delta, after merged: VersionVector, numbers: [ObjectUID: Int64], hasGaps: Bool,
        in transaction: MergeTransaction
    ) throws {
        guard transaction.environment.isCheckingLane else { return nil }
        self.transaction = transaction
        slice = LaneSlice(delta, after: merged, numbers: numbers, hasGaps: hasGaps)
        decision = try LaneRules.decide(slice, in: transaction.storage)
        count()
        if !decision.eligible.isEmpty { try verifyAlone(delta) }
    }

    private func count() {
        guard !slice.objects.isEmpty else { return }
        var tally = LaneTally()
        tally.slices = 1
        tally.wholeSlices = decision.refusals.isEmpty ? 1 : 0
        tally.objects = slice.objects.count
        tally.eligible = decision.eligible.count
        for reason in decision.refusals.values { tally.refusals[reason.rawValue, default: 0] += 1 }
        transaction.environment.tally.count(lane: tally)
    }

    private mutating func verifyAlone(_ delta: Delta) throws {
        let own = Delta(
            since: delta.since, headers: delta.headers,
            facts: delta.facts.filter { fact in
                fact.object.map(decision.eligible.contains) ?? false
            })
        let storage = transaction.storage
        var loader = try RegionLoader(storage)
        try loader.add(decision.eligible.sorted())
        for round in 0... {
            if round == RegionUpdate.roundsMax {
                loader = try RegionLoader.everything(in: storage)
            }
            var state = loader.region.state
            guard state.merge(own) else {
                throw SyncError(.internalFault, "a slice that fits does not fit its region")
            }
            let view = View(state)
            let image = try storage.image(of: view, in: loader.region, hints: slice.numbers)
            if try loader.loadMissing(for: state, view: view, image: image) { continue }
            try verify(state, view, in: "alone")
            try verifyRows(image, before: loader.region)
            return
        }
    }

    private mutating func verifyRows(_ image: TableImage, before region: AffectedRegion) throws {
        let differences = TableWriter.differences(from: region.rows, to: image.rows)
        for (key, difference) in differences {
            guard difference.after != nil, let name = image.names[key],
                decision.eligible.contains(name)
            else {
                throw SyncError(
                    .internalFault,
                    "the fast lane may take \(decision.eligible.sorted()), but alone these change "
                        + "the row \(key.values) of \(schema.entities[key.entity].name)")
            }
            changed.insert(key)
            guard difference.before == nil, let number = slice.numbers[name],
                schema.entities[key.entity].hasPrivateNumbers
            else { continue }
            if key.values != [.integer(number)] {
                throw violation(of: name, "alone", "it gets the number \(key.values)")
            }
        }
    }

    /// Checks what the general lane has made of the whole slice.
    /// - Throws: `internalFault` naming an object that the rules should have refused.
    /// - Complexity: O(facts of the slice)
    func verify(_ result: RegionUpdate.Result) throws {
        try verify(result.state, result.view, in: "in its slice")
        guard decision.refusals.isEmpty, Set(result.differences.keys) != changed else { return }
        throw SyncError(
            .internalFault,
            "the fast lane may take all of \(decision.eligible.sorted()), but the general lane "
                + "changed \(result.differences.keys.map(\.values)), not \(changed.map(\.values))")
    }

    private func verify(_ state: MergeState, _ view: View, in place: String) throws {
        for uid in decision.eligible.sorted() {
            guard let record = state.objects[uid] else {
                throw violation(of: uid, place, "it is not there")
            }
            let shown = StoredObject.State(of: uid, record: record, in: state, view: view)
            guard shown == .plain, let row = view.rows[uid], row.members == [uid] else {
                throw violation(
                    of: uid, place, "it is \(shown), shown as \(view.shownAs[uid] as Any)")
            }
            let entity = schema.entities[record.entity]
            for (cell, columns) in entity.cells.enumerated()
            where entity.policies[cell] == .lastWriter {
                let current = record.cells[cell].filter { $0.incarnation == record.incarnation }
                let newest = state.newest(of: current, dot: \.dot, name: { _ in 0 })
                let isShown = zip(columns, state.literal(newest)).allSatisfy {
                    row.fields[$0] == $1
                }
                guard isShown, row.sources[cell] == VersionID(uid, cell: cell, dot: newest.dot)
                else {
                    throw violation(
                        of: uid, place, "cell \(cell) shows \(columns.map { row.fields[$0] })")
                }
            }
        }
    }

    private func violation(of uid: ObjectUID, _ place: String, _ what: String) -> SyncError {
        let arrival = slice.arrivals[uid]
        let entity = arrival.map { SchemaIdentity.title(schema.entities[$0.entity].name) } ?? "?"
        let cells = (arrival?.versions.map(\.cell) ?? []).sorted()
        let lives = (arrival?.life ?? []).map { "\($0.kind) \($0.incarnation)" }
        return SyncError(
            .internalFault,
            "the fast lane may take \(uid) of \(entity) (\(lives), cells \(cells)), but \(place) "
                + what + "; refused beside it: \(decision.refusals.values.map(\.rawValue).sorted())"
        )
    }
}

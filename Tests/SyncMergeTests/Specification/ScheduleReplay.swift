import SyncMerge
import SyncTesting

/// Drives a recorded schedule through the product and compares every step with the specification.
struct ScheduleReplay {
    private struct Replica {
        var state: MergeState
        var view: View
        var collector = Collector()
    }

    private let schedule: RecordedSchedule
    private var replicas: [String: Replica] = [:]
    private var batches: [Int: Delta] = [:]
    /// How many states were compared.
    private(set) var comparisons = 0

    init(_ schedule: RecordedSchedule) {
        self.schedule = schedule
        let state = MergeState(schema: schedule.schema)
        for name in schedule.replicas { replicas[name] = Replica(state: state, view: View(state)) }
    }

    /// - Throws: `SimulationFailure` at the first step that differs.
    mutating func run() throws {
        for (step, event) in schedule.events.enumerated() {
            let name = event.replica ?? event.to ?? event.from ?? ""
            do {
                try replay(event, name)
                if let after = event.after { try compare(after, name) }
            } catch {
                throw SimulationFailure("step \(step), \(event.do) at \(name): \(error)")
            }
        }
    }

    private mutating func replay(_ event: RecordedSchedule.Event, _ name: String) throws {
        guard var replica = replicas[name] else { throw SimulationFailure("no such replica") }
        let dot = Dot(SimulatedReplica.id(Character(name)), event.number ?? 0)
        let time = HybridTime(rawValue: event.time ?? 0)
        let names = Dictionary(uniqueKeysWithValues: (event.names ?? []).map { ($0.key, $0.name) })
        switch event.do {
        case "commit":
            var drawn = try (event.drawn ?? []).map(ObjectUID.init(recorded:))[...]
            let commit = Commit(
                rows: (event.rows ?? []).map(\.row),
                recreated: Set((event.recreated ?? []).map(\.key)),
                rekeyed: Dictionary(
                    uniqueKeysWithValues: (event.rekeyed ?? []).map { ($0[0].key, $0[1].key) }))
            let recorded = try replica.state.record(
                commit, view: replica.view, names: names, dot: dot, time: time
            ) { drawn.popFirst() ?? ObjectUID(high: 0, low: 0) }
            (replica.state, replica.view) = (recorded.state, recorded.view)
        case "close":
            let recorded = try replica.state.close(
                view: replica.view, names: names, dot: dot, time: time)
            (replica.state, replica.view) = (recorded.state, recorded.view)
        case "send":
            let delta = replica.state.delta(
                since: VersionVector(recorded: event.since ?? [:]), first: event.first)
            try expect(delta.facts.count == event.facts, "facts in the batch")
            if let id = event.id { batches[id] = delta }
        case "receive":
            guard let delta = event.id.flatMap({ batches[$0] }) else {
                throw SimulationFailure("no such batch")
            }
            try expect(replica.state.merge(delta) == event.merged, "refusal")
            replica.view = View(replica.state)
        case "collect":
            let stable = VersionVector(recorded: event.stable ?? [:])
            let dropped = replica.collector.collect(&replica.state, stable: stable)
            try expect(dropped == event.dropped, "dropped objects")
            replica.view = View(replica.state)
        default: throw SimulationFailure("no such event")
        }
        replicas[name] = replica
    }

    private mutating func compare(_ state: RecordedSchedule.State, _ name: String) throws {
        guard let replica = replicas[name] else { return }
        comparisons += 1
        try expect(replica.state.vector == VersionVector(recorded: state.vector), "vector")
        try expect(
            replica.view.order.compactMap { replica.view.rows[$0] } == state.rows.map(\.row),
            "rows")
        var conflicts: [VersionID: ConflictReason] = [:]
        for conflict in state.conflicts { conflicts[conflict.id] = conflict.reason }
        try expect(replica.view.conflicts.mapValues(\.reason) == conflicts, "open conflicts")
    }

    private func expect(_ isTrue: Bool, _ what: String) throws {
        if !isTrue { throw SimulationFailure("\(what) differ") }
    }
}

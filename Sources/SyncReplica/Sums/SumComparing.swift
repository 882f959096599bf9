import SyncMerge
import SyncValues

/// Compares what other replicas state with what this one stated of the same moment, and keeps the
/// outcome.
struct SumComparing {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage

    init(_ transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
    }

    /// Compares.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - lease: a difference with a replica that has been away for longer is not told any more,
    ///     milliseconds.
    /// - Returns: the replicas that differed from this one when they were last compared.
    /// - Throws: SQLite errors; `corrupt` for stored comparisons that cannot be read.
    /// - Complexity: O(replicas · entities)
    func compare(
        _ sums: [ReplicaID: StateSums], at now: Int64, lease: Int64
    ) throws -> [StateDifference] {
        var last: [ReplicaID: PeerComparisons.Entry] = [:]
        for entry in try storage.comparisons.all() { last[entry.replica] = entry }
        for (replica, theirs) in sums.sorted(by: { $0.key < $1.key })
        where replica != transaction.identity.replica {
            guard let own = try storage.sums.sums(at: theirs.at),
                let found = own.compared(with: theirs)
            else { continue }
            let isNone = found.compared.allSatisfy { $0 == storage.totals.aliasesName }
            // A difference stays until a comparison holds.
            if isNone, found.uncompared.isEmpty || !(last[replica]?.entities.isEmpty ?? true) {
                continue
            }
            let names = titles(of: found.different, elsewhere: "a dropped table")
            let left = titles(of: found.uncompared, elsewhere: "a table that is not here")
            let former = last[replica]
            // The same statement again is no further comparison.
            if former?.at == theirs.at, former?.entities == names, former?.uncompared == left {
                continue
            }
            let entry = PeerComparisons.Entry(
                replica: replica, at: theirs.at, time: now,
                count: (former?.count ?? 0) + (isNone ? 0 : 1), entities: names,
                uncompared: left, isNone: isNone)
            try storage.comparisons.write(entry)
            last[replica] = entry
        }
        let peers = try storage.peers.all()
        let time = try transaction.observeClock()
        return last.values.filter { entry in
            !entry.entities.isEmpty
                && !(peers[entry.replica]?.isAbsent(at: time, lease: lease) ?? false)
        }
        .sorted { $0.replica < $1.replica }
        .map { StateDifference(replica: $0.replica, entities: $0.entities) }
    }

    private func titles(of names: [UInt64], elsewhere: String) -> [String] {
        let totals = storage.totals
        let titles = names.map { name in
            totals.places.first { totals.name($0) == name }.map(totals.title) ?? elsewhere
        }
        return Set(titles).sorted()
    }
}

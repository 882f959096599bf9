import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// What of a store's state is needed, on one state of the store.
struct CollectionSurvey {
    /// Marked objects that something names which is kept.
    private(set) var needed: Set<ObjectUID> = []
    /// Transactions of facts that are here, and of conflicts.
    private(set) var used: Set<Dot> = []
    /// Facts that are here.
    private(set) var factCount = 0

    /// - Complexity: O(facts); holds the marked objects and the transactions in memory.
    init(_ connection: OpaquePointer, _ prepared: MergeSession.Prepared) throws {
        var marked: Set<ObjectUID> = []
        let marks = try Statement(connection, "SELECT uid FROM syncd_mark")
        while try marks.step() {
            if let uid = ObjectUID(bytes: marks.blob(0) ?? []) { marked.insert(uid) }
        }
        var work: [ObjectUID] = []
        var names: [ObjectUID: [ObjectUID]] = [:]
        try prepared.objects.forEach(after: -1) { uid, object in
            for life in object.record.life { used.insert(life.dot) }
            factCount += object.record.life.count
            for version in object.record.cells.joined() {
                used.insert(version.dot)
                factCount += 1
                for target in version.value.compactMap(\.target) where marked.contains(target) {
                    if marked.contains(uid) {
                        names[uid, default: []].append(target)
                    } else {
                        work.append(target)
                    }
                }
            }
        }
        for (alias, dot) in try prepared.objects.aliases() {
            used.insert(dot)
            work += [alias.first, alias.second].filter(marked.contains)
        }
        for entry in try prepared.unknown.all() {
            used.insert(entry.fact.dot)
            work += entry.fact.named.filter(marked.contains)
        }
        while let uid = work.popLast() {
            if needed.insert(uid).inserted { work += names[uid] ?? [] }
        }
        try addConflicts(connection, prepared.replicas)
    }

    private mutating func addConflicts(
        _ connection: OpaquePointer, _ replicas: ReplicaNames
    ) throws {
        let select = try Statement(
            connection, "SELECT replica, number, met_replica, met_number FROM syncd_conflict")
        while try select.step() {
            used.insert(Dot(try replicas.name(of: select.integer(0)), select.integer(1)))
            if let met = select.integerOrNil(2) {
                used.insert(Dot(try replicas.name(of: met), select.integer(3)))
            }
        }
    }
}

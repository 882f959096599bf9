import SyncMerge

/// The part of a store's state that is needed, on one state of the store.
struct CollectionSurvey {
    /// Marked objects that a kept object, an alias or a kept fact refers to.
    private(set) var needed: Set<ObjectUID> = []
    /// Transactions of stored facts, of conflicts and of statements of schemas: what these had
    /// seen tells which of them are concurrent.
    private(set) var used: Set<Dot> = []
    /// Stored facts.
    private(set) var factCount = 0

    /// - Complexity: O(facts); holds the marked objects and the transactions in memory.
    /// - Throws: SQLite errors; `corrupt`, `badData` for rows that cannot be read.
    init(_ storage: ReplicaStorage) throws {
        let marked = try storage.marks.all()
        var work: [ObjectUID] = []
        var names: [ObjectUID: [ObjectUID]] = [:]
        func add(_ record: ObjectRecord, of uid: ObjectUID) {
            for life in record.life { used.insert(life.dot) }
            factCount += record.life.count
            for version in record.cells.joined() {
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
        try storage.objects.forEach { add($1.record, of: $0) }
        try storage.objects.forEachForeign { add($2, of: $0) }
        for (alias, dot) in try storage.objects.aliases() {
            used.insert(dot)
            work += [alias.first, alias.second].filter(marked.contains)
        }
        for entry in try storage.unknown.all() {
            used.insert(entry.fact.dot)
            work += entry.fact.named.filter(marked.contains)
        }
        while let uid = work.popLast() {
            if needed.insert(uid).inserted { work += names[uid] ?? [] }
        }
        used.formUnion(try storage.conflicts.dots())
        used.formUnion(try storage.schemas.statements().map(\.dot))
        used.formUnion(try storage.schemas.former().compactMap(\.dot))
    }
}

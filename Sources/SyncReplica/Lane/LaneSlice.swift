import SyncMerge

/// What a slice of a batch states about each object, before it is merged.
struct LaneSlice {
    /// The facts of one object that are not merged yet.
    struct Arrival {
        /// Position of its entity.
        let entity: Int
        /// Whether facts name it under several entities.
        var isAmbiguous = false
        var life: [Life] = []
        var versions: [(cell: Int, version: Version)] = []

        /// The versions of a cell.
        func versions(of cell: Int) -> [Version] {
            versions.filter { $0.cell == cell }.map(\.version)
        }
    }

    /// By object; without those that only an alias names.
    private(set) var arrivals: [ObjectUID: Arrival] = [:]
    /// The objects of its alias facts.
    private(set) var aliased: Set<ObjectUID> = []
    /// All objects that its facts name: their own, and those that their values refer to.
    private(set) var named: Set<ObjectUID> = []
    /// What the writer of each transaction had merged.
    let seen: [Dot: VersionVector]
    /// The private numbers that objects have at the sender.
    let numbers: [ObjectUID: Int64]
    /// Whether it takes away what is here, beside what its facts say.
    let hasGaps: Bool

    /// - Parameter merged: what was merged before it: facts that this covers are skipped.
    /// - Complexity: O(facts)
    init(
        _ delta: Delta, after merged: VersionVector, numbers: [ObjectUID: Int64], hasGaps: Bool
    ) {
        seen = Dictionary(delta.headers.map { ($0.dot, $0.seen) }) { first, _ in first }
        self.numbers = numbers
        self.hasGaps = hasGaps
        for fact in delta.facts where !merged.covers(fact.dot) {
            named.formUnion(fact.named)
            switch fact {
            case .alias(let first, let second, _): aliased.formUnion([first, second])
            case .life(let uid, let entity, let life):
                add(uid, entity) { $0.life.append(life) }
            case .cell(let uid, let entity, let cell, let version):
                add(uid, entity) { $0.versions.append((cell, version)) }
            }
        }
    }

    private mutating func add(_ uid: ObjectUID, _ entity: Int, _ change: (inout Arrival) -> Void) {
        if let known = arrivals[uid]?.entity, known != entity { arrivals[uid]?.isAmbiguous = true }
        change(&arrivals[uid, default: Arrival(entity: entity)])
    }

    /// All objects that it states something about.
    var objects: Set<ObjectUID> { aliased.union(arrivals.keys) }
}

extension ResultUpdate {
    /// The difference that is known.
    ///
    /// - Complexity: O(k²) for k changed objects
    init(_ changes: ResultChanges, to new: ResultSnapshot<Object>) {
        let kept = Set(changes.kept)
        let (moved, stayed) = changes.movedAndStayed
        self.init(
            snapshot: new, isInitial: false,
            inserted: changes.present.filter { changes.former[$0.key] == nil }
                .map { ($0.key, $0.value) }.sorted { $0.1 < $1.1 },
            removed: changes.former.filter {
                changes.present[$0.key] == nil && !kept.contains($0.key)
            }
            .map { ($0.key, $0.value) }.sorted { $0.1 < $1.1 },
            moved: moved.map {
                .init(id: $0, from: changes.former[$0] ?? 0, to: changes.present[$0] ?? 0)
            }.sorted { $0.to < $1.to },
            reconfigured: changes.kept.sorted {
                (changes.former[$0] ?? 0) < (changes.former[$1] ?? 0)
            } + stayed)
    }

    /// The difference of two lists.
    ///
    /// - Complexity: O(n log n)
    init(
        from old: ResultSnapshot<Object>?, to new: ResultSnapshot<Object>,
        changed: Set<ManagedObjectID>
    ) {
        let oldIDs = old?.ids ?? []
        guard oldIDs != new.ids else {
            self.init(
                snapshot: new, isInitial: old == nil, inserted: [], removed: [], moved: [],
                reconfigured: new.ids.filter(changed.contains))
            return
        }
        let oldPlaces = Dictionary(
            oldIDs.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let newPlaces = Dictionary(
            new.ids.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let stayed = new.ids.compactMap { id in oldPlaces[id].map { (id, $0) } }
        let inPlace = ListOrder.increasing(stayed.map(\.1))
        var moved: [Move] = []
        for (index, item) in stayed.enumerated() where !inPlace.contains(index) {
            moved.append(.init(id: item.0, from: item.1, to: newPlaces[item.0] ?? 0))
        }
        let movedIDs = Set(moved.map(\.id))
        self.init(
            snapshot: new, isInitial: old == nil,
            inserted: new.ids.enumerated().filter { oldPlaces[$1] == nil }.map { ($1, $0) },
            removed: oldIDs.enumerated().filter { newPlaces[$1] == nil }.map { ($1, $0) },
            moved: moved,
            reconfigured: stayed.map(\.0).filter { changed.contains($0) && !movedIDs.contains($0) })
    }
}

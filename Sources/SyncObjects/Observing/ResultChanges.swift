/// The effect of changed objects on a list: their former and present places.
struct ResultChanges {
    /// Places before, of those that were in the list.
    var former: [ManagedObjectID: Int] = [:]
    /// Places now, of those that were put in the list.
    var present: [ManagedObjectID: Int] = [:]
    /// Those that changed, and stayed where they were.
    var kept: [ManagedObjectID] = []

    var isEmpty: Bool { former.isEmpty && present.isEmpty }

    /// Those that were taken out and put back, and moved among the others; and the rest of them.
    var movedAndStayed: (moved: Set<ManagedObjectID>, stayed: [ManagedObjectID]) {
        let both = present.compactMap { id, place in former[id].map { (id, $0, place) } }
        let kept = Set(kept)
        let out = former.filter { !kept.contains($0.key) }.values.sorted()
        let into = present.values.sorted()
        // A place among those that were not touched.
        let rank = { (place: Int, touched: [Int]) in place - touched.count { $0 < place } }
        var moved: Set<ManagedObjectID> = []
        var rest: [(id: ManagedObjectID, from: Int, to: Int)] = []
        for (id, from, to) in both {
            if rank(from, out) == rank(to, into) {
                rest.append((id, from, to))
            } else {
                moved.insert(id)
            }
        }
        rest.sort { $0.to < $1.to }
        let inOrder = ListOrder.increasing(rest.map(\.from))
        for (index, item) in rest.enumerated() where !inOrder.contains(index) {
            moved.insert(item.id)
        }
        return (moved, rest.map(\.id).filter { !moved.contains($0) })
    }
}

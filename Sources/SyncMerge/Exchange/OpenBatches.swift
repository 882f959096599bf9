import SyncValues

/// The batches that a receiver can merge next, while it advances: each vector entry of each batch
/// is looked at once, when the receiver passes it, and not again with every step. Anyone who may
/// write a folder can put thousands of small batches there.
///
/// Invariants
/// - `numbers` is what the receiver has merged, batches that were taken included.
/// - `missingFrom` and `missingUpTo` count the entries of a batch's `from` and `upTo` that
///   `numbers` does not cover. A batch is *open* while the first is 0 and the second is not.
/// - `open` has each batch from when it opens, the smallest last; one that was passed stays until
///   it is found.
struct OpenBatches {
    /// One entry of a vector of a batch, which the receiver has not passed.
    private struct Bound {
        let number: Int64
        let item: Int
        let isFrom: Bool
    }

    private let items: [BatchCatalog.Item]
    private var numbers: [ReplicaID: Int64] = [:]
    private var missingFrom: [Int]
    private var missingUpTo: [Int]
    /// By replica, the smallest number last.
    private var bounds: [ReplicaID: [Bound]] = [:]
    private var open: [Int] = []

    init(_ items: [BatchCatalog.Item], since vector: VersionVector) {
        self.items = items
        missingFrom = Array(repeating: 0, count: items.count)
        missingUpTo = missingFrom
        for dot in vector.entries { numbers[dot.replica] = dot.number }
        for (index, item) in items.enumerated() {
            for dot in item.envelope.from.entries where !covers(dot) {
                missingFrom[index] += 1
                bounds[dot.replica, default: []].append(
                    Bound(number: dot.number, item: index, isFrom: true))
            }
            for dot in item.envelope.upTo.entries where !covers(dot) {
                missingUpTo[index] += 1
                bounds[dot.replica, default: []].append(
                    Bound(number: dot.number, item: index, isFrom: false))
            }
        }
        for replica in bounds.keys { bounds[replica]?.sort { $0.number > $1.number } }
        open = items.indices.filter { missingFrom[$0] == 0 }.sorted { precedes($1, $0) }
    }

    private func covers(_ dot: Dot) -> Bool { numbers[dot.replica, default: 0] >= dot.number }

    /// Whether a batch is smaller, or as large and earlier in the catalog.
    private func precedes(_ left: Int, _ right: Int) -> Bool {
        let (first, second) = (
            items[left].envelope.payloadBytes, items[right].envelope.payloadBytes
        )
        return first == second ? left < right : first < second
    }

    private func isOpen(_ index: Int) -> Bool {
        missingFrom[index] == 0 && missingUpTo[index] > 0
    }

    /// Takes the smallest open batch, and advances the receiver.
    mutating func takeSmallest() -> BatchCatalog.Item? {
        while let index = open.popLast() {
            if isOpen(index) { return take(index) }
        }
        return nil
    }

    /// Takes the open batch with the greatest value, and advances the receiver.
    /// - Complexity: O(n)
    mutating func take(
        greatest value: (BatchCatalog.Item) -> Double
    ) -> BatchCatalog.Item? {
        let index = items.indices.filter(isOpen).max { value(items[$0]) < value(items[$1]) }
        return index.map { take($0) }
    }

    private mutating func take(_ index: Int) -> BatchCatalog.Item {
        for dot in items[index].envelope.upTo.entries where !covers(dot) {
            numbers[dot.replica] = dot.number
            while let bound = bounds[dot.replica]?.last, bound.number <= dot.number {
                bounds[dot.replica]?.removeLast()
                pass(bound)
            }
        }
        return items[index]
    }

    private mutating func pass(_ bound: Bound) {
        guard bound.isFrom else {
            missingUpTo[bound.item] -= 1
            return
        }
        missingFrom[bound.item] -= 1
        guard missingFrom[bound.item] == 0 else { return }
        // Sorted, the smallest last.
        var (low, high) = (0, open.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(open[middle], bound.item) { high = middle } else { low = middle + 1 }
        }
        open.insert(bound.item, at: low)
    }
}

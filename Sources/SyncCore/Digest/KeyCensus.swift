import SyncStorage
import SyncValues

/// Which log rows of one transaction have to be assembled together: those of one key, and those of
/// keys that name each other (a renumbering, a cascade). Every other row is a change of its own.
///
/// Keys are compared by their hashes: two keys of one hash are assembled together, which changes
/// nothing. It takes 16 bytes for each row while it counts (24 for deletes), and then as much for
/// each row of a key that has several.
struct KeyCensus {
    private struct Row {
        let hash: Int
        let seq: Int64
    }

    private var rows: [Row] = []
    private var linked: Set<Int> = []
    private var deleted: [Int] = []
    /// Deletes that may be cascades, and the objects that they referred to.
    private var references: [(child: Int, parent: Int)] = []

    /// Ascending; what is not in it has one row.
    private var shared: [Int] = []
    /// Where the rows of each group begin in `rows`, in the order of the log.
    private var starts: [Int] = []
    /// The rows of all keys that name each other, ascending.
    private(set) var linkedSeqs: [Int64] = []

    /// - Parameter rowsMax: no more rows are counted: an array that grows takes three times as much
    ///   while it is copied.
    init(rowsMax: Int64) { rows.reserveCapacity(Int(min(rowsMax, Self.reservedMax))) }

    private static let reservedMax: Int64 = 1 << 24

    /// Takes the next record of the transaction.
    mutating func count(_ record: LogRecord) {
        guard let entity = record.entity else { return }
        let hashes = Self.hashes(of: record, entity)
        for hash in hashes { rows.append(Row(hash: hash, seq: record.seq)) }
        if hashes.count > 1 { linked.formUnion(hashes) }
        guard record.kind == .delete || record.kind == .replace else { return }
        deleted.append(hashes[0])
        guard !entity.cascades.isEmpty else { return }
        let kept = entity.keptValues(in: record.values)
        let key = record.key(entity)
        for cascade in entity.cascades {
            guard let parent = entity.reference(cascade, key: key, kept: kept) else { continue }
            let name = ObjectName(entity: SQLName.folded(cascade.parent), key: parent)
            references.append((hashes[0], name.hashValue))
        }
    }

    /// Ends the counting.
    ///
    /// - Complexity: O(rows · log rows)
    mutating func finish() {
        rows.sort { ($0.hash, $0.seq) < ($1.hash, $1.seq) }
        deleted.sort()
        for (child, parent) in references where Self.has(parent, in: deleted) {
            linked.insert(child)
            linked.insert(parent)
        }
        (deleted, references) = ([], [])
        var end = 0
        var run = 0
        while run < rows.count {
            let hash = rows[run].hash
            var next = run + 1
            while next < rows.count, rows[next].hash == hash { next += 1 }
            if linked.contains(hash) {
                linkedSeqs += rows[run..<next].map(\.seq)
                shared.append(hash)
            } else if next - run > 1 {
                starts.append(end)
                for index in run..<next {
                    rows[end] = rows[index]
                    end += 1
                }
                shared.append(hash)
            }
            run = next
        }
        // A new array: the old one keeps the memory of all rows.
        rows = Array(rows[..<end])
        linked = []
        linkedSeqs = Set(linkedSeqs).sorted()
        starts.sort { rows[$0].seq < rows[$1].seq }
    }

    /// The number of keys with several rows that name no other key.
    var groupCount: Int { starts.count }

    /// The rows of one such key, ascending.
    func seqs(ofGroup index: Int) -> [Int64] {
        let start = starts[index]
        return rows[start...].prefix { $0.hash == rows[start].hash }.map(\.seq)
    }

    /// Whether a record has to be assembled together with others.
    ///
    /// - Complexity: O(log rows)
    func isShared(_ record: LogRecord) -> Bool {
        guard let entity = record.entity else { return false }
        return Self.hashes(of: record, entity).contains { Self.has($0, in: shared) }
    }

    /// The keys that a record names: a renumbering has two.
    private static func hashes(of record: LogRecord, _ entity: TrackedEntity) -> [Int] {
        let key = ObjectName(entity: entity.folded, key: record.key(entity)).hashValue
        guard record.kind == .renumber else { return [key] }
        let new = ObjectKey(Array(record.values.suffix(entity.keyCount)))
        return [key, ObjectName(entity: entity.folded, key: new).hashValue]
    }

    private static func has(_ hash: Int, in sorted: [Int]) -> Bool {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low < sorted.count && sorted[low] == hash
    }
}

import SyncStorage
import SyncValues

/// Which of the counted log rows of one transaction have to be assembled together: those of one
/// key, and those of keys that name each other: a renumbering, and a cascade where one of its keys
/// has other rows. Every other row is a change of its own, also what a cascade took
/// (``PassingDeletes``).
///
/// Keys are compared by their hashes: two keys of one hash are assembled together, which changes
/// nothing. It takes 16 bytes for each row while it counts, and then as much for each row of a key
/// that has several.
struct KeyCensus {
    private struct Row {
        let hash: Int
        let seq: Int64
    }

    private var rows: [Row] = []
    private var linked: Set<Int> = []
    /// The deletes that may take others along.
    private(set) var deletes = DeleteCensus()

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
        if record.kind == .deleting { deletes.begin(hashes[0], at: record) }
        if record.kind == .delete { deletes.end(hashes[0], at: record) }
    }

    /// Ends the counting.
    ///
    /// - Parameter keepsSingles: whether a key with one row is a group, too.
    /// - Complexity: O(rows · log rows)
    mutating func finish(keepingSingles keepsSingles: Bool = false) {
        rows.sort { ($0.hash, $0.seq) < ($1.hash, $1.seq) }
        let plain = linkCascades()
        var end = 0
        var run = 0
        while run < rows.count {
            let next = endOfKey(at: run)
            let hash = rows[run].hash
            if linked.contains(hash) {
                linkedSeqs += rows[run..<next].map(\.seq)
                shared.append(hash)
            } else if keepsSingles || next - run > 1, !plain.contains(hash) {
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

    /// Where the rows of the key end that begin at `run`.
    private func endOfKey(at run: Int) -> Int {
        var next = run + 1
        while next < rows.count, rows[next].hash == rows[run].hash { next += 1 }
        return next
    }

    /// Links what a cascade took to what took it, unless both have no other rows.
    ///
    /// - Returns: the keys of plain deletes.
    private mutating func linkCascades() -> Set<Int> {
        deletes.finish()
        guard !deletes.isEmpty else { return [] }
        var plain: Set<Int> = []
        var run = 0
        while run < rows.count {
            let next = endOfKey(at: run)
            if next - run == 2,
                deletes.notePlain(rows[run].hash, rows[run].seq, rows[run + 1].seq)
            {
                plain.insert(rows[run].hash)
            }
            run = next
        }
        var found: Set<Int> = []
        for row in rows {
            deletes.forEach(around: row.seq) { hash, isPlain in
                if !isPlain { found.formUnion([hash, row.hash]) }
            }
        }
        linked.formUnion(found)
        run = 0
        while run < rows.count {
            let next = endOfKey(at: run)
            let hash = rows[run].hash
            let isSingle = next - run == 1 || plain.contains(hash)
            if !isSingle || linked.contains(hash) {
                for row in rows[run..<next] {
                    deletes.forEach(around: row.seq) { outer, _ in
                        found.formUnion([outer, hash])
                    }
                }
            }
            run = next
        }
        linked.formUnion(found)
        return plain
    }

    /// The number of groups: keys that name no other key.
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

    /// The key of a record.
    static func hash(of record: LogRecord, _ entity: TrackedEntity) -> Int {
        ObjectName(entity: entity.folded, key: record.key(entity)).hashValue
    }

    /// The keys that a record names: a renumbering has two.
    private static func hashes(of record: LogRecord, _ entity: TrackedEntity) -> [Int] {
        let key = hash(of: record, entity)
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

/// The deletes of one transaction that may take others along, from their begins (kind 6) to their
/// ends (kind 3 with `m` = 1): see ``OpenDeletes``. They nest.
///
/// It takes 48 bytes for each such delete.
struct DeleteCensus {
    private struct Delete {
        let hash: Int
        let time: Double?
        let begin: Int64
        /// 0 while it has none: its row was kept.
        var end: Int64 = 0
        /// The delete that it is in.
        let outer: Int?
        /// Its key has no other rows: what is in it was deleted because of it.
        var isPlain = false
    }

    /// By ascending begin.
    private var deletes: [Delete] = []
    private var open: [Int] = []
    private var byHash: [Int: Int] = [:]
    private var isUneven = false

    var isEmpty: Bool { deletes.isEmpty }

    /// Takes a row of kind 6.
    mutating func begin(_ hash: Int, at record: LogRecord) {
        if open.contains(where: { deletes[$0].hash == hash }) { isUneven = true }
        deletes.append(
            Delete(hash: hash, time: record.time, begin: record.seq, outer: open.last))
        open.append(deletes.count - 1)
    }

    /// Takes a row of kind 3.
    mutating func end(_ hash: Int, at record: LogRecord) {
        guard !open.isEmpty, record.m & 1 == 1 else { return }
        let place = open.lastIndex {
            deletes[$0].hash == hash && deletes[$0].time == record.time
        }
        guard let place else { return }
        if place < open.count - 1 { isUneven = true }
        deletes[open[place]].end = record.seq
        open.removeSubrange(place...)
    }

    /// Ends the counting.
    mutating func finish() {
        if !open.isEmpty { isUneven = true }
        // A begin without an end: what is in it cannot be told from what is around it.
        for index in deletes.indices where deletes[index].end == 0 {
            deletes[index].end = .max
        }
        guard !isUneven else { return }
        for index in deletes.indices { byHash[deletes[index].hash] = index }
    }

    /// Notes that a key has these two rows and no others.
    ///
    /// - Returns: whether they are the begin and the end of a delete.
    mutating func notePlain(_ hash: Int, _ first: Int64, _ second: Int64) -> Bool {
        guard let index = byHash[hash], deletes[index].begin == first, deletes[index].end == second
        else { return false }
        deletes[index].isPlain = true
        return true
    }

    /// Calls `body` with the deletes that a row is in, the innermost first.
    ///
    /// - Complexity: O(log deletes), and the depth.
    func forEach(around seq: Int64, _ body: (_ hash: Int, _ isPlain: Bool) -> Void) {
        var (low, high) = (0, deletes.count)
        while low < high {
            let middle = (low + high) / 2
            if deletes[middle].begin < seq { low = middle + 1 } else { high = middle }
        }
        var next = low > 0 ? low - 1 : nil
        while let index = next {
            if deletes[index].end > seq { body(deletes[index].hash, deletes[index].isPlain) }
            next = deletes[index].outer
        }
    }

    /// The end of the plain delete that begins with this row; nil: it is none.
    ///
    /// - Complexity: O(log deletes)
    func end(ofPlain begin: Int64) -> Int64? {
        var (low, high) = (0, deletes.count)
        while low < high {
            let middle = (low + high) / 2
            if deletes[middle].begin < begin { low = middle + 1 } else { high = middle }
        }
        guard low < deletes.count, deletes[low].begin == begin, deletes[low].isPlain else {
            return nil
        }
        return deletes[low].end
    }
}

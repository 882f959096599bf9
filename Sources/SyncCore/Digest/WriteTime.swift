/// When a part of a change was written, in a transaction of several commits that ran together: the
/// transaction has the time of the last of them, and may lie days after the first.
package struct WriteTime: Hashable, Sendable {
    /// The columns that an update wrote; empty: the insert or the delete itself.
    package let columns: ColumnMask
    /// How long before the time of the transaction, in milliseconds; never negative, so that a
    /// clock that went back makes nothing newer than the transaction.
    package let ageMilliseconds: Int64

    package init(columns: ColumnMask = ColumnMask(), ageMilliseconds: Int64) {
        self.columns = columns
        self.ageMilliseconds = ageMilliseconds
    }
}

/// The times of the writes to one key, while commits that ran together are put together.
///
/// Invariants: times ascend; a column is in the last of the writes to it alone; the first entry of
/// an inserted object is its insert.
struct WrittenColumns {
    private struct Entry {
        var columns: ColumnMask
        let julianDay: Double
    }

    private var entries: [Entry] = []

    /// The object was inserted or deleted: what was written before does not count any more.
    mutating func begin(at julianDay: Double) {
        entries = [Entry(columns: ColumnMask(), julianDay: julianDay)]
    }

    /// Columns were written.
    /// - Parameter isInserted: the first entry is the insert of the object, which stays.
    /// - Complexity: O(entries), at most one for each column and one more.
    mutating func write(_ columns: ColumnMask, at julianDay: Double, isInserted: Bool) {
        if columns.isEmpty, !entries.isEmpty { return }
        for index in entries.indices { entries[index].columns.subtract(columns) }
        let first = isInserted ? entries.first : nil
        entries.removeAll { $0.columns.isEmpty }
        if let first { entries.insert(first, at: 0) }
        entries.append(Entry(columns: columns, julianDay: julianDay))
    }

    /// The times as ages, oldest first; none where all was written at the end.
    func ages(before end: Timestamp) -> [WriteTime] {
        var times: [WriteTime] = []
        for (place, entry) in entries.enumerated() {
            let written = Timestamp(julianDay: entry.julianDay)
            let age = max(0, end.milliseconds - written.milliseconds)
            if place > 0, let last = times.last, last.ageMilliseconds == age {
                // An insert that was written again within its millisecond is one write.
                if last.columns.isEmpty { continue }
                var columns = last.columns
                columns.formUnion(entry.columns)
                times[times.count - 1] = WriteTime(columns: columns, ageMilliseconds: age)
            } else {
                times.append(WriteTime(columns: entry.columns, ageMilliseconds: age))
            }
        }
        return times.allSatisfy { $0.ageMilliseconds == 0 } ? [] : times
    }
}

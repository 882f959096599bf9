import SyncMerge

/// The keys of rows that were inserted: five bytes for each insert, whatever the keys are.
///
/// What is kept of a key is the lower half of its hash, at a place that its upper half gives. So a
/// key may be taken for one of an inserted row by accident, one in some thousand million; never the
/// other way round.
struct InsertedKeys {
    /// By place; 0: no key.
    private var marks: [UInt32]

    /// - Parameter insertsMax: no more are noted.
    init(insertsMax: Int) {
        marks = [UInt32](repeating: 0, count: insertsMax + insertsMax / 4 + 1)
    }

    /// Notes an insert.
    /// - Complexity: O(1)
    mutating func insert(_ key: RowKey) {
        let (place, mark) = find(key)
        marks[place] = mark
    }

    /// Whether a row with the key was inserted.
    /// - Complexity: O(1)
    func contains(_ key: RowKey) -> Bool { marks[find(key).place] != 0 }

    /// Where a key is, or would be: there is always a place that is free.
    private func find(_ key: RowKey) -> (place: Int, mark: UInt32) {
        let hash = UInt(bitPattern: key.hashValue)
        let mark = UInt32(truncatingIfNeeded: hash) | 1
        var place = Int(hash.multipliedFullWidth(by: UInt(marks.count)).high)
        while marks[place] != 0, marks[place] != mark {
            place = place + 1 < marks.count ? place + 1 : 0
        }
        return (place, mark)
    }
}

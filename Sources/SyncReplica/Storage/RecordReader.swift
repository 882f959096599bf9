import SyncMerge

/// Reads the facts of a record in place, in the order of its bytes, whichever form they have
/// (``RecordCoding``): the life facts, the number of cells, then the versions of each cell.
///
/// What is read of damaged bytes is 0, and ``ByteCursor/isBroken`` is true after them.
struct RecordReader {
    /// Where the next fact begins; the fields of a version are read from it.
    var cursor: ByteCursor
    let lifeCount: Int
    private let isCompact: Bool
    private var created = RecordDot()
    /// Of a compact record: bit 0 is that of the next cell.
    private var mask: UInt64 = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        cursor = ByteCursor(bytes)
        lifeCount = cursor.count()
        isCompact = lifeCount == 1 && UInt64(cursor.next) & RecordForm.mark == RecordForm.mark
        if isCompact { mask = cursor.varint() >> 2 }
    }

    mutating func life() -> (kind: UInt8, incarnation: Int, dot: RecordDot) {
        if isCompact {
            created = cursor.dot()
            return (LifeKind.created.rawValue, 1, created)
        }
        let kind = cursor.byte()
        let incarnation = Int(truncatingIfNeeded: cursor.varint())
        return (kind, incarnation, cursor.dot())
    }

    /// Whether the record can have this number of cells.
    mutating func hasCells(_ count: Int) -> Bool {
        if isCompact { return count >= RecordForm.maskedCellsMax || mask >> UInt64(count) == 0 }
        return cursor.varint() == UInt64(count)
    }

    /// The number of versions of the next cell.
    mutating func versionCount() -> Int { isCompact ? 1 : cursor.count() }

    /// What a version has before its fields.
    mutating func version() -> (dot: RecordDot, incarnation: Int) {
        guard isCompact else { return cursor.version() }
        defer { mask >>= 1 }
        return (mask & 1 == 0 ? created : cursor.dot(), 1)
    }
}

extension ByteCursor {
    /// What a version of a record that is not compact has before its fields.
    mutating func version() -> (dot: RecordDot, incarnation: Int) {
        let dot = dot()
        return (dot, Int(truncatingIfNeeded: varint()))
    }
}

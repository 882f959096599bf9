import SyncMerge
import SyncStorage

/// The places of the facts in a record's bytes (``RecordCoding``), so that a record can be cut:
/// each part gets the facts of its own transactions, and not those of others, which may be large.
///
/// One is used for many records, so that its arrays are allocated once.
struct OutgoingRecord {
    /// A fact, in the order of the record.
    struct Placed {
        /// Its transaction.
        let name: LaneRecord.Name
        /// 0: a life fact; n: a version of cell n - 1.
        let group: Int
        /// Its bytes.
        let bytes: Range<Int>
    }

    private(set) var facts: [Placed] = []
    private var cellCount = 0

    /// Reads a record.
    /// - Parameter widths: the number of columns of each cell.
    /// - Throws: `badData` for bytes that are no record of these cells.
    /// - Complexity: O(bytes)
    mutating func read(_ bytes: UnsafeRawBufferPointer, widths: [Int]) throws {
        facts.removeAll(keepingCapacity: true)
        cellCount = widths.count
        var cursor = ByteCursor(bytes)
        // A count: no more than there are bytes, so that damaged ones end.
        func count() -> UInt64 { min(cursor.varint(), UInt64(bytes.count)) }
        func name() -> LaneRecord.Name {
            let replica = Int64(truncatingIfNeeded: cursor.varint())
            return .init(replica: replica, number: Int64(truncatingIfNeeded: cursor.varint()))
        }
        for _ in 0..<count() {
            let start = cursor.position
            _ = cursor.byte()
            _ = cursor.varint()
            facts.append(Placed(name: name(), group: 0, bytes: start..<cursor.position))
        }
        guard cursor.varint() == UInt64(widths.count) else { throw OutgoingFacts.damaged }
        for (cell, width) in widths.enumerated() {
            for _ in 0..<count() {
                let start = cursor.position
                let name = name()
                _ = cursor.varint()
                for _ in 0..<width { _ = cursor.skipField() }
                guard !cursor.isBroken else { throw OutgoingFacts.damaged }
                facts.append(Placed(name: name, group: cell + 1, bytes: start..<cursor.position))
            }
        }
        guard !cursor.isBroken, cursor.position == bytes.count else {
            throw OutgoingFacts.damaged
        }
    }

    /// Writes the record with some of its facts alone.
    /// - Parameters:
    ///   - bytes: those that were read.
    ///   - chosen: the positions of the facts, ascending.
    /// - Complexity: O(bytes of these facts, and cells)
    func write(
        _ chosen: [Int], of bytes: UnsafeRawBufferPointer, to writer: inout ByteWriter
    ) {
        var rest = chosen[...]
        for group in 0...cellCount {
            if group == 1 { writer.append(varint: UInt64(cellCount)) }
            let members = rest.prefix { facts[$0].group == group }
            writer.append(varint: UInt64(members.count))
            for place in members {
                writer.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[facts[place].bytes]))
            }
            rest = rest.dropFirst(members.count)
        }
        if cellCount == 0 { writer.append(varint: 0) }
    }
}

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
        let dot: RecordDot
        /// 0: a life fact; n: a version of cell n - 1.
        let group: Int
        /// Of a life fact.
        var kind = UInt8(0)
        let incarnation: Int
        /// Its fields.
        let bytes: Range<Int>
    }

    private(set) var facts: [Placed] = []
    /// Whether a version states a part of its cell.
    private var hasParts = false
    private var cellCount = 0

    /// Reads a record.
    /// - Parameter widths: the number of columns of each cell.
    /// - Throws: `badData` for bytes that are no record of these cells.
    /// - Complexity: O(bytes)
    mutating func read(_ bytes: UnsafeRawBufferPointer, widths: [Int]) throws {
        facts.removeAll(keepingCapacity: true)
        cellCount = widths.count
        var reader = RecordReader(bytes)
        for _ in 0..<reader.lifeCount {
            let life = reader.life()
            facts.append(
                Placed(
                    dot: life.dot, group: 0, kind: life.kind, incarnation: life.incarnation,
                    bytes: 0..<0))
        }
        guard reader.hasCells(widths.count) else { throw OutgoingFacts.damaged }
        for (cell, width) in widths.enumerated() {
            for _ in 0..<reader.versionCount() {
                let version = reader.version()
                let start = reader.cursor.position
                for _ in 0..<width { _ = reader.cursor.skipField() }
                guard !reader.cursor.isBroken else { throw OutgoingFacts.damaged }
                facts.append(
                    Placed(
                        dot: version.dot, group: cell + 1, incarnation: version.incarnation,
                        bytes: start..<reader.cursor.position))
            }
        }
        guard !reader.cursor.isBroken, reader.cursor.isAtEnd else { throw OutgoingFacts.damaged }
        hasParts = reader.cursor.hasMetPart
    }

    /// The parts of cells that versions state, where there are any.
    /// - Parameters:
    ///   - bytes: those that were read.
    ///   - entity: the position of the entity.
    func parts(of bytes: UnsafeRawBufferPointer, widths: [Int], entity: Int) -> [PartCell] {
        guard hasParts else { return [] }
        return facts.compactMap { fact in
            guard fact.group > 0 else { return nil }
            let (cell, width) = (fact.group - 1, widths[fact.group - 1])
            let stated = ByteCursor(bytes, at: fact.bytes.lowerBound).stated(of: width)
            return stated.count == width
                ? nil : PartCell(entity: entity, cell: cell, stated: stated)
        }
    }

    /// Writes the record with some of its facts alone, never in the compact form.
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
                let fact = facts[place]
                if group == 0 {
                    writer.append(byte: fact.kind)
                    writer.append(varint: UInt64(truncatingIfNeeded: fact.incarnation))
                    writer.append(fact.dot)
                } else {
                    writer.append(version: fact.dot, incarnation: fact.incarnation)
                    writer.append(bytes: UnsafeRawBufferPointer(rebasing: bytes[fact.bytes]))
                }
            }
            rest = rest.dropFirst(members.count)
        }
        if cellCount == 0 { writer.append(varint: 0) }
    }
}

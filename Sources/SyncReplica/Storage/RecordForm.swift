import SyncMerge
import SyncValues

/// The form of a record with one life fact (``RecordCoding``), and what it has beside the fields.
/// It follows from the facts: the same ones are the same bytes.
///
/// First the versions are added, then they are written, in the order of the cells.
struct RecordForm {
    /// Cells that the mask has room for: beside ``mark`` it is in 64 bits.
    static let maskedCellsMax = 62
    /// The lowest bits of the number that a compact record has after its first byte, in the place
    /// of the kind of a life fact: no kind has both.
    static let mark: UInt64 = 3

    private let kind: LifeKind
    private let incarnation: Int
    private let life: RecordDot
    private(set) var isCompact: Bool
    /// The cells whose version has another transaction than the life fact.
    private var mask: UInt64 = 0

    init(_ kind: LifeKind, incarnation: Int, by life: RecordDot) {
        self.kind = kind
        self.incarnation = incarnation
        self.life = life
        isCompact = kind == .created && incarnation == 1
    }

    /// Adds the only version of a cell.
    mutating func add(_ dot: RecordDot, incarnation: Int, of cell: Int) {
        if incarnation != 1 { isCompact = false }
        guard dot != life else { return }
        if cell < Self.maskedCellsMax { mask |= 1 << UInt64(cell) } else { isCompact = false }
    }

    /// Adds a cell that has several versions, or none.
    mutating func addOther() { isCompact = false }

    // MARK: Writing

    /// Writes what goes before the cells.
    func appendHead(cellCount: Int, to writer: inout ByteWriter) {
        writer.append(varint: 1)
        if isCompact {
            writer.append(varint: mask << 2 | Self.mark)
            writer.append(life)
        } else {
            appendLife(to: &writer)
            writer.append(varint: UInt64(cellCount))
        }
    }

    /// Writes what goes before the cells of a record that has the end of another life, too.
    mutating func appendHead(
        after end: RecordForm, cellCount: Int, to writer: inout ByteWriter
    ) {
        isCompact = false
        writer.append(varint: 2)
        end.appendLife(to: &writer)
        appendLife(to: &writer)
        writer.append(varint: UInt64(cellCount))
    }

    private func appendLife(to writer: inout ByteWriter) {
        writer.append(byte: kind.rawValue)
        writer.append(varint: UInt64(incarnation))
        writer.append(life)
    }

    /// Writes what goes before the fields of the only version of a cell.
    func appendVersion(_ dot: RecordDot, incarnation: Int, to writer: inout ByteWriter) {
        if isCompact {
            if dot != life { writer.append(dot) }
        } else {
            writer.append(varint: 1)
            writer.append(version: dot, incarnation: incarnation)
        }
    }
}

extension ByteWriter {
    mutating func append(_ dot: RecordDot) {
        append(varint: UInt64(bitPattern: dot.replica))
        append(varint: UInt64(bitPattern: dot.number))
    }

    /// Writes what goes before the fields of a version in a record that is not compact.
    mutating func append(version dot: RecordDot, incarnation: Int) {
        append(dot)
        append(varint: UInt64(incarnation))
    }
}

import Glibc
import SyncMerge
import SyncStorage
import SyncValues

/// A row of a table, cell by cell as a record has it.
///
/// One is used for many rows, so that its arrays are allocated once.
struct RowCells {
    private(set) var fields = ByteWriter()
    /// Where each cell ends in ``fields``.
    private(set) var ends: [Int] = []

    /// Reads the present row of a statement that reads all columns.
    /// - Parameter targets: what the references of the row lead to; nil: nothing.
    /// - Returns: false for a row with a blob that is stored otherwise than it is read: one that
    ///   begins as a state does.
    mutating func read(_ row: Statement, _ entity: StatedEntity, targets: [ObjectUID?]) -> Bool {
        fields.removeAll()
        ends.removeAll(keepingCapacity: true)
        for columns in entity.cells {
            for column in columns {
                if let part = entity.parts[column], let uid = targets[part.reference] {
                    fields.append(byte: RecordCoding.referenceTag)
                    fields.append(bigEndian: uid.high)
                    fields.append(bigEndian: uid.low)
                    fields.append(varint: UInt64(part.part))
                    continue
                }
                let start = fields.bytes.count
                row.append(Int32(column), to: &fields)
                if fields.bytes[start] == 4, isEscaped(from: start) { return false }
            }
            ends.append(fields.bytes.count)
        }
        return true
    }

    /// Writes the cells, each as the only version of it.
    /// - Parameter dots: by cell, its transaction.
    func append(
        to record: inout ByteWriter, _ dots: [RecordDot], in form: RecordForm, incarnation: Int
    ) {
        var start = 0
        for (cell, dot) in dots.enumerated() {
            form.appendVersion(dot, incarnation: incarnation, to: &record)
            append(start..<ends[cell], to: &record)
            start = ends[cell]
        }
    }

    /// Writes the fields of a cell.
    func append(_ range: Range<Int>, to record: inout ByteWriter) {
        fields.bytes.withUnsafeBytes {
            record.append(bytes: UnsafeRawBufferPointer(rebasing: $0[range]))
        }
    }

    private func isEscaped(from start: Int) -> Bool {
        var cursor = start + 1
        while fields.bytes[cursor] >= 0x80 { cursor += 1 }
        return fields.bytes.withUnsafeBytes {
            BlendCoding.escapes(UnsafeRawBufferPointer(rebasing: $0[(cursor + 1)...]))
        }
    }

    /// Whether a cell is what a version of a record has.
    /// - Parameters:
    ///   - range: of the cell in ``fields``.
    ///   - stored: the record.
    func isEqual(
        _ range: Range<Int>, to cell: LaneRecord.Cell, of stored: [UInt8]
    ) throws -> Bool {
        let isSame = fields.bytes.withUnsafeBytes { new in
            stored.withUnsafeBytes { old in
                let (new, old) = (new[range], old[cell.fields..<cell.end])
                guard new.count == old.count, let ours = new.base.baseAddress,
                    let theirs = old.base.baseAddress
                else { return false }
                return memcmp(ours + new.startIndex, theirs + old.startIndex, new.count) == 0
            }
        }
        // Two reals of different bytes may be equal: 0 and -0.
        if isSame || fields.bytes[range.lowerBound] != 2 && range.count <= 9 { return isSame }
        return try RecordCoding.areEqual(
            Array(fields.bytes[range]), Array(stored[cell.fields..<cell.end]))
    }
}

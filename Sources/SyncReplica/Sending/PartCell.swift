/// The columns that a version states of its cell, where these are a part of it: a batch has it in a
/// cell of these columns.
struct PartCell: Hashable {
    /// Position of the entity among those of the batch.
    let entity: Int
    /// The cell of the record.
    let cell: Int
    /// The places of the columns in the cell.
    let stated: [Int]
}

extension ByteCursor {
    /// The places of the fields of a version that state something; the fields are not read.
    func stated(of width: Int) -> [Int] {
        var cursor = self
        return (0..<width).filter { _ in
            defer { _ = cursor.skipField() }
            return cursor.next != RecordCoding.unstatedTag
        }
    }
}

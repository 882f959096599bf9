import SyncMerge
import SyncStorage
import SyncValues

/// Follows the cells of an entity in the conflict log after its columns have changed.
///
/// The log names a cell by its position, and has the identities of its columns beside it. An entry
/// about columns that are a cell no longer is closed: where its fact is a conflict still, it gets
/// another entry.
struct ConflictCells {
    /// The position of a cell that is not there any more, less the number of the entry: no two
    /// entries of one fact may have one cell.
    private static let gone: Int64 = -1000

    private let connection: OpaquePointer

    init(_ connection: OpaquePointer) { self.connection = connection }

    /// - Throws: SQLite errors.
    /// - Complexity: O(conflicts · cells)
    func follow(_ entity: MergeEntity) throws {
        let (name, gone) = (Value.text(entity.name), Value.integer(Self.gone))
        try Statement(
            "UPDATE syncd_conflict SET cell = ?2 - id WHERE entity = ?1 AND cell >= 0",
            on: connection
        ).run(name, gone)
        // The open entries first: earlier programs may have left closed ones of the same columns.
        for condition in ["IS NULL", "NOT NULL"] {
            let place = try Statement(
                """
                UPDATE OR IGNORE syncd_conflict SET cell = ?3
                WHERE entity = ?1 AND cell < ?2 AND columns = ?4 AND closed \(condition)
                """, on: connection)
            for cell in entity.cells.indices {
                let columns = try ConflictStorage.columnNames(ofCell: cell, in: entity)
                try place.run(name, gone, .integer(Int64(cell)), .text(columns))
            }
        }
        try Statement(
            """
            UPDATE syncd_conflict SET closed = opened
            WHERE entity = ?1 AND cell < ?2 AND closed IS NULL
            """, on: connection
        ).run(name, gone)
    }
}

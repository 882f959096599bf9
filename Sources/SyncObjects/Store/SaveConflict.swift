import SyncCore

/// Why one object of a save cannot be written.
struct SaveConflict: Error, Sendable {
    enum Kind: Sendable {
        /// The row differs from the one that the context had read.
        case changed(stored: StoredRow)
        /// The row was deleted.
        case deleted
        /// The row to be deleted differs from the one that the context had read.
        case deleteOfChanged(stored: StoredRow)
        /// Another row has the same values in a UNIQUE constraint. `columns` is empty for a
        /// constraint that the layer cannot name: of an expression, or of a table that a trigger
        /// writes. `other` is nil when the row cannot be found by these columns.
        case constraint(columns: [String], other: StoredRow?)
    }

    let id: ManagedObjectID
    let kind: Kind
}

/// All conflicts of one save; nothing was written.
struct SaveConflicts: Error {
    let conflicts: [SaveConflict]
}

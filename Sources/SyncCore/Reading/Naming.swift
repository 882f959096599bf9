import SyncStorage

/// Which names the tables and columns of a change have.
enum Naming {
    /// Those that they had when it was made.
    case then
    /// Those that they have now: to compare it with the tables, or to write it back.
    case now
}

/// The names that the table of an earlier entity, and its columns, have now.
struct PresentNames {
    let entity: String
    /// In the order of the entity's columns. A column that is gone has a name that no column has.
    let columns: [String]
    /// The columns that the table got since.
    let added: [String]

    /// - Parameter columns: in the order of the earlier entity; nil for one that is gone.
    init(_ columns: [String?], of earlier: TrackedEntity, in present: TrackedEntity) {
        entity = present.name
        self.columns = zip(earlier.columnNames, columns).map { $1 ?? Self.gone($0, in: present) }
        let known = Set(columns.compactMap(\.self))
        added = present.columnNames.filter { !known.contains($0) }
    }

    private static func gone(_ name: String, in present: TrackedEntity) -> String {
        var unused = name
        while present.columnNames.contains(where: { SQLName.isEqual($0, to: unused) }) {
            unused += " (dropped)"
        }
        return unused
    }
}

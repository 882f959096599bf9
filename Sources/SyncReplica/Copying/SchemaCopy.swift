import GRDB
import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Makes what a new replica has beside the tracked tables: untracked tables, virtual tables, views,
/// triggers, settings.
///
/// Triggers that fill an index fire while rows are merged; the others are made after the last row,
/// so that a log of changes does not begin with rows that are old.
struct SchemaCopy {
    private let content: SchemaContent
    private let review: SchemaReview

    /// - Parameter consents: whether the user agreed to what needs consent.
    /// - Throws: SQLite errors.
    /// - Complexity: O(schema)
    init(_ content: SchemaContent, consenting consents: Bool) throws {
        self.content = content
        review = try SchemaReview(content, consents: consents)
    }

    /// Makes the untracked and virtual tables, and the triggers that fill these.
    /// - Throws: SQLite errors; as ``Store/alter(_:running:making:)``.
    func makeIndexes(at path: String) throws {
        let first = review.accepted.filter { object in
            switch object.kind {
            case .table: !object.isTracked
            case .virtualTable: !isOverView(object)
            case .index: true
            case .trigger: review.indexing.contains(SQLName.folded(object.name))
            case .view: false
            }
        }
        guard !first.isEmpty else { return }
        // What fails is made, or named, at the end.
        _ = try Store.alter(path) { try ObjectSet(first).make(in: $0) }
    }

    /// Makes the rest, rebuilds the indexes over other tables, and sets what programs read of the
    /// file.
    /// - Returns: what is not made.
    /// - Throws: SQLite errors; as ``Store/alter(_:running:making:)``.
    func finish(at path: String) throws -> [RefusedObject] {
        try Store.alter(path) { database in
            // The synchronised tables are those that the new replica began with.
            let rest = review.accepted.filter { !($0.kind == .table && $0.isTracked) }
            let failed = try ObjectSet(rest).makeFilled(in: database)
            try raiseSequences(in: database)
            let settings = content.settings
            for (pragma, value) in [
                ("user_version", settings.userVersion), ("application_id", settings.applicationID),
            ] where Int64(Int32.min)...Int64(Int32.max) ~= value {
                try database.execute(sql: "PRAGMA \(pragma) = \(value)")
            }
            return review.refused + failed
        }
    }

    /// Views are made after the last row: an index over one is, too.
    private func isOverView(_ object: SchemaObject) -> Bool {
        guard let content = (try? VirtualTableText(object))?.content else { return false }
        return review.accepted.contains {
            $0.kind == .view && SQLName.isEqual($0.name, to: content)
        }
    }

    private func raiseSequences(in database: Database) throws {
        guard try database.tableExists("sqlite_sequence") else { return }
        for (name, number) in content.sequences.sorted(by: { $0.key < $1.key })
        where number > 0 && review.tables.contains(where: { $0.name == name }) {
            try database.execute(
                sql: "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1 AND seq < ?2",
                arguments: [name, number])
            try database.execute(
                sql: """
                    INSERT INTO sqlite_sequence(name, seq) SELECT ?1, ?2
                    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)
                    """, arguments: [name, number])
        }
    }
}

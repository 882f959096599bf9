import GRDB
import SyncCore

extension SaveTransaction {
    /// Deletes and inserts rows of the table of a relationship from many to many.
    /// - Throws: SQLite errors.
    func write(_ edit: SaveRequest.JoinEdit) throws {
        let join = edit.join
        let table = SQLText.quoted(join.table)
        let own = SQLText.quoted(join.sourceColumn)
        let other = SQLText.quoted(join.targetColumn)
        for pair in edit.removed {
            let statement = try RawStatement(
                db, sql: "DELETE FROM \(table) WHERE \(own) = ? AND \(other) = ?")
            statement.bind([keys[pair.source] ?? pair.source, keys[pair.target] ?? pair.target])
            try statement.run()
        }
        for (pair, order) in edit.added {
            var names = [join.sourceColumn, join.targetColumn]
            var values = [keys[pair.source] ?? pair.source, keys[pair.target] ?? pair.target]
            for (column, value) in [
                (join.targetOrderColumn, order.target), (join.sourceOrderColumn, order.source),
            ] {
                guard let column, value != .null else { continue }
                names.append(column)
                values.append(value)
            }
            let updates = names.dropFirst(2).map {
                "\(SQLText.quoted($0)) = excluded.\(SQLText.quoted($0))"
            }
            let action =
                updates.isEmpty
                ? "NOTHING" : "UPDATE SET " + updates.joined(separator: ", ")
            let statement = try RawStatement(
                db,
                sql: "INSERT INTO \(table)(\(SQLText.list(names))) "
                    + "VALUES (\(SQLText.marks(names.count)))"
                    + " ON CONFLICT(\(own), \(other)) DO \(action)")
            statement.bind(values)
            try statement.run()
        }
    }
}

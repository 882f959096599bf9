import SyncMerge

/// Checks of shared numbers.
extension SimulatedStore {
    /// Checks that no row is shown under the number of a row that has none of its own.
    func checkNumbers() throws {
        for (place, entity) in schema.merge.entities.enumerated() where entity.sharesNumbers {
            let (table, key) = (schema.tableNames[place], schema.columnNames[place][entity.key[0]])
            // Writers choose small numbers, and the ends of the range.
            let lost = try database.run(
                "SELECT count(*) FROM \(table) WHERE \(key) BETWEEN -(1 << 52) AND -1000")
            guard lost == [[0]] else {
                throw SimulationFailure(
                    "rows of \(entity.name) have no number of their own, "
                        + "and their authors are here")
            }
        }
    }

    /// How many transactions of this replica gave other numbers to rows.
    func renumberings() throws -> Int {
        let count = try database.run(
            "SELECT count(*) FROM syncd_transaction WHERE flags & 32 AND NOT flags & 4")
        if case .integer(let count)? = count?[0][0] { return Int(count) }
        return 0
    }
}

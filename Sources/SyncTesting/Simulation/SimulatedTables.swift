import SyncMerge

/// The tables that a simulated writer writes.
protocol SimulatedTables {
    /// Their schema.
    var schema: SimulatedSchema { get }
    /// The writer's connection.
    var database: WriterDatabase { get }
    /// What they held after the last commit or merge.
    var tables: [RowKey: [Value]] { get }

    /// What they hold now, inside the writer's transaction.
    func read() throws -> [RowKey: [Value]]

    /// Called before the writer commits.
    func willCommit() throws
}

extension SimulatedTables {
    func willCommit() throws {}

    func read() throws -> [RowKey: [Value]] {
        var rows: [RowKey: [Value]] = [:]
        for (position, entity) in schema.merge.entities.enumerated() {
            for row in try database.run(schema.select(position)) ?? [] {
                rows[schema.merge.key(position, entity.key.map { row[$0] })] = row
            }
        }
        return rows
    }
}

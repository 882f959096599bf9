import SyncMerge

/// The tables that a simulated writer writes, whatever keeps them.
protocol SimulatedTables {
    /// What they look like.
    var schema: SimulatedSchema { get }
    /// The writer's connection.
    var database: WriterDatabase { get }
    /// What they held after the last commit or merge.
    var tables: [RowKey: [Value]] { get }

    /// What they hold now, inside the writer's transaction.
    func read() throws -> [RowKey: [Value]]

    /// The writer is about to commit.
    func willCommit() throws
}

extension SimulatedTables {
    func willCommit() throws {}
}

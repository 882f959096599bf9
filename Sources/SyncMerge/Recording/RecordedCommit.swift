/// A local transaction as facts, and the state after it.
package struct RecordedCommit: Sendable {
    /// The state with the facts.
    package let state: MergeState
    /// Its view: equal to the committed tables, if the commit is settled.
    package let view: View
    /// The identity of each committed row.
    package let names: [RowKey: ObjectUID]
    /// The transaction's header.
    package let header: TransactionHeader
    /// The facts that it states, in order: of two versions of one cell the later one counts.
    package let facts: [Fact]
    /// The number of facts that were added only to keep the view equal to the tables (adoptions).
    package let adoptionCount: Int
    /// Whether the view equals the committed tables. False where the commit made room for rows that
    /// a constraint had kept out of the tables: these are shown now, by the caller.
    package let isSettled: Bool
}

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

    init(
        state: MergeState, view: View, names: [RowKey: ObjectUID], header: TransactionHeader,
        facts: [Fact], adoptionCount: Int, isSettled: Bool
    ) {
        self.state = state
        self.view = view
        self.names = names
        self.header = header
        self.facts = facts
        self.adoptionCount = adoptionCount
        self.isSettled = isSettled
    }

    /// A transaction that was written by a recorder, without a commit.
    /// - Parameter view: the view of the recorder's state.
    package init(_ recorder: FactRecorder, view: View, names: [RowKey: ObjectUID]) {
        self.init(
            state: recorder.state, view: view, names: names, header: recorder.header,
            facts: recorder.facts, adoptionCount: 0, isSettled: true)
    }
}

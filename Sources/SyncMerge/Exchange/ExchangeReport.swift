import SyncValues

/// What an exchange moved.
package struct ExchangeReport: Sendable, Hashable {
    /// Transactions sent.
    package var pushedCount = 0
    /// Transactions merged.
    package var pulledCount = 0
    /// Bytes of batches, both ways.
    package var bytes = 0
    /// Own batches at the remote that larger ones have replaced.
    package var compactedCount = 0
    /// How far a remote that keeps batches led before.
    package var found: VersionVector?
    /// What it lacks of what it had after an exchange before, as a sentence.
    package var rewound: String?
    /// What is shown here and one snapshot alone leaves out, as a sentence.
    package var doubtful: String?
    /// How far the remote led before, with what was sent: of a push.
    package var head: VersionVector?
    /// What was skipped at the remote, and why.
    package var problems: [BatchCatalog.Problem] = []
    /// The names of batches that were damaged: they have to be sent again.
    package var damaged: [String] = []
    /// What the replica has merged and cannot show: after a pull.
    package var waiting: [WaitingChanges] = []
    /// The replicas that have merged the same transactions as this one and differ from it.
    package var differences: [StateDifference] = []

    /// Nothing yet.
    package init() {}

    /// Notes a batch that was not merged.
    mutating func skip(_ name: String, _ error: SyncError) {
        let isDamaged = error.code == .badData
        if isDamaged { damaged.append(name) }
        problems.append(
            .init(name: name, reason: error.reason, unusable: isDamaged ? .badData : nil))
    }

    /// Adds what another exchange moved.
    package mutating func add(_ other: ExchangeReport) {
        pushedCount += other.pushedCount
        pulledCount += other.pulledCount
        bytes += other.bytes
        compactedCount += other.compactedCount
        if !other.waiting.isEmpty { waiting = other.waiting }
        damaged += other.damaged
        found = found ?? other.found
        head = other.head ?? head
        differences += other.differences.filter { !differences.contains($0) }
        problems += other.problems.filter { !problems.contains($0) }
    }

    /// Why it was not complete: something at the remote could not be read.
    package var denial: SyncError? { problems.denial }

    /// Why it was not complete: something at the remote could not be read, or not be used.
    package var lack: SyncError? { problems.denial ?? problems.loss }

    /// A key that some batches need and that is missing here.
    package var missingKey: KeyID? { problems.lazy.compactMap(\.missingKey).first }
}

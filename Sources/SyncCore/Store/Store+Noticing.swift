import Glibc
import SyncStorage
import SyncValues

/// What was written past the triggers is found by whoever looks first, with a daemon or without.
extension Store {
    /// What the last query found wrong with the recording and could not repair: until
    /// it is, writes to these tables are not in the history.
    public var unrecorded: [CaptureFinding] { lastLook.withLock { $0.findings } }

    /// The last look at the triggers.
    struct CaptureLook {
        /// The schema's version at the time; nil: to be looked at again.
        var schema: Int64?
        var findings: [CaptureFinding] = []
    }

    /// A table that is gone may be on its way back under its name: microseconds, 0.5 s.
    private static let rebuildTime: UInt32 = 500_000

    /// Looks at the triggers when the schema has changed since the last look, repairs them, and
    /// records what was missed. Queries do this. A daemon, and who calls ``Store/poll()``, does it
    /// when it hears of the change (``PollResult/schemaChanged``,
    /// ``Store/repairCapture(comparing:)``).
    ///
    /// What this process may not write, or a writer keeps from it, is in ``unrecorded`` afterwards.
    ///
    /// - Returns: whether what was missed is recorded by the next merge only: the store merges.
    /// - Throws: as ``verifyCapture()``, `storeDamaged`.
    /// - Complexity: O(1) when the schema has not changed; else O(columns of the schema), and
    ///   O(rows) of the tables whose triggers were missing.
    @discardableResult
    package func mendCapture() throws -> Bool {
        let schema = try live.withState { _, live in
            isMending && !live.hasJournal ? try live.readSchemaVersion() : nil
        }
        guard let schema, lastLook.withLock({ $0.schema != schema }) else { return false }
        var isForMerge = false
        var findings = try verifyCapture()
        if findings.contains(where: \.isHalfOfARebuild) {
            usleep(Self.rebuildTime)
            findings = try verifyCapture()
        }
        do {
            if !findings.isEmpty, !findings.contains(where: \.isOfMigration) {
                isForMerge = try repairCapture().isComparedWhenMerging
                findings = []
            }
        } catch let error as SyncError
            where [.busy, .readOnly, .notAllowed, .diskFull].contains(error.code)
        {}
        findings.removeAll { !$0.mayHaveLostChanges && !$0.isOfMigration }
        // What was repaired here changed the schema once more: a look that costs little.
        lastLook.withLock {
            $0 = CaptureLook(schema: findings.isEmpty ? schema : nil, findings: findings)
        }
        return isForMerge
    }
}

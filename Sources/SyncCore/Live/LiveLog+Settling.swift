import CSQLite
import SyncStorage
import SyncValues

/// Recording the ends of commits before they are told, without a journal of one's own.
extension LiveLog {
    /// How long a reader waits for a writer before it reports rows instead.
    static let settleWait = Duration.milliseconds(500)
    private static let settleAttemptsMax = 16

    /// What a reader may tell beyond the history tables.
    struct Settlement {
        /// The recorded ends of transactions that are not in the tables.
        var boundaries: [Boundary] = []
        /// What is recorded nowhere; nil: nothing.
        var unsettled: UnsettledRows?
        /// The error that kept it from being recorded.
        var obstacle: SyncError?
    }

    /// Makes what is committed part of history that no later reader changes: with a journal of its
    /// own this process has recorded it already; otherwise it is moved to the history tables, with
    /// the boundaries that the journals of daemons and the WAL have.
    ///
    /// Nothing is written where nothing is new, or a daemon has recorded it. A file that is locked
    /// for ``settleWait``, or that this process may not write, is no error: then only what is
    /// recorded is told.
    ///
    /// - Throws: as ``poll()``.
    /// - Complexity: O(new log rows), in slices that hold writers up for about 2 ms.
    func settle() throws -> Settlement {
        let found = try pendingBoundaries()
        if try isRecording() { return Settlement(boundaries: found) }
        guard let end = found.last?.last else { return Settlement() }
        let journals = try NamedJournals(metadata, identity: identity)
        if let path = journals.unreadable {
            return try settlement(
                of: journals,
                leaving: SyncError(
                    .notAllowed, "the daemon's journal \(path) cannot be read",
                    hint: "Ask the daemon (leave out --direct), or run as its user"))
        }
        let recorded = journals.boundaries
        if recorded.contains(where: { $0.last == end }) {
            // A daemon has recorded all of it, and digests it when the store is quiet.
            try adopt(recorded)
            return Settlement(boundaries: boundaries)
        }
        do {
            for _ in 0..<Self.settleAttemptsMax {
                guard try digest(upTo: end, respecting: journals) else { continue }
                // Passes over the commits of the digest in the WAL while they are there: when it is
                // reset they could not be told from others.
                _ = try pendingBoundaries()
                return Settlement()
            }
        } catch let error as SyncError {
            guard [.busy, .readOnly, .diskFull].contains(error.code) else { throw error }
            return try settlement(of: journals, leaving: error)
        }
        return try settlement(
            of: journals,
            leaving: SyncError(
                .busy, "other processes are writing the history", hint: "Try again in a moment"))
    }

    /// - Returns: whether the history tables go up to `end`.
    private func digest(upTo end: Int64, respecting journals: NamedJournals) throws -> Bool {
        // The journals first: all that they have is in the snapshot that is read next.
        let recorded = journals.boundaries
        _ = try pendingBoundaries()
        try adopt(recorded)
        let gate = JournalGate(journals, boundaries: boundaries)
        sqlite3_busy_timeout(connection, Int32(Self.settleWait.milliseconds))
        defer { sqlite3_busy_timeout(connection, Int32(DatabaseOpener.busyTimeout.milliseconds)) }
        let digested = try prepareDigestion().digester.digest(
            boundaries, trimming: .oneSlice, through: gate, while: { true })
        boundaries.removeAll { $0.last <= digested }
        resolver.births.forget(upTo: digested)
        return digested >= end
    }

    private func settlement(
        of journals: NamedJournals, leaving error: SyncError
    ) throws -> Settlement {
        let digested = try metadata.position(.digested)
        let recorded = journals.boundaries.filter { $0.last > digested && $0.last <= bounded }
        let count = try Statement(
            LogTable.countSQL(after: max(digested, recorded.last?.last ?? 0)), on: connection)
        guard try count.step(), count.integer(0) > 0 else {
            return Settlement(boundaries: recorded)
        }
        let hint = error.hint ?? "Run the command as a user who may write the file and its folder"
        return Settlement(
            boundaries: recorded,
            unsettled: UnsettledRows(
                count: count.integer(0), reason: error.reason, hint: hint,
                isTransient: error.isTransient),
            obstacle: error)
    }

    /// Up to which row ends are recorded in journals; 0 when in none.
    /// - Throws: as ``poll()``.
    func recordedEnd() throws -> Int64 {
        if try isRecording() { return try pendingBoundaries().last?.last ?? 0 }
        let recorded = try NamedJournals(metadata, identity: identity).boundaries
        return recorded.last { $0.last <= bounded }?.last ?? 0
    }

}

/// Lets a slice of the digest pass when the journals of daemons have the boundaries that it was put
/// together with.
private struct JournalGate: DigestGate {
    private let journals: NamedJournals
    private let boundaries: [Boundary]

    init(_ journals: NamedJournals, boundaries: [Boundary]) {
        self.journals = journals
        self.boundaries = boundaries
    }

    func enter(after digested: Int64, upTo end: Int64) throws -> Bool {
        try journals.lock()
        let recorded = journals.boundaries.filter { $0.last > digested }
        guard let told = recorded.last?.last,
            let last = boundaries.first(where: { $0.last >= end })?.last
        else { return true }
        let limit = min(told, last)
        return boundaries.filter { $0.last > digested && $0.last <= limit }
            == recorded.filter { $0.last <= limit }
    }

    func leave() { journals.release() }
}

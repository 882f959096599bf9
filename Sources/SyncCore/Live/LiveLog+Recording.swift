import CSQLite
import SyncStorage
import SyncValues

/// Recording the ends of commits in a journal, before they are told.
extension LiveLog {
    /// Records boundaries in `journal` from now on, before any caller gets them, and restores those
    /// that an earlier process recorded there: commits that can no longer be told apart in the WAL
    /// are separate again. Boundaries that the history tables cover are dropped.
    ///
    /// Other readers find the journal by its path in the metadata. Until that is written, and
    /// while the journal cannot be, transactions are told as without a journal.
    /// - Throws: the error of SQLite.
    func record(in journal: BoundaryJournal) throws {
        let peers = PeerJournals(besides: journal, metadata, identity: identity)
        defer { peers.release() }
        try adopt(NamedJournals.united(peers.recorded() + journal.boundaries))
        _ = journal.append(boundaries, mark: mark(of: boundaries))
        self.journal = journal
        self.peers = peers
        try? nameJournal()
    }

    /// Whether this process records in a journal what it tells, and other readers know of it.
    func isRecording() throws -> Bool {
        guard let journal else { return false }
        // Others may have taken the name of a file away that was gone.
        if journal.fault != nil { isNamed = false }
        if !isNamed {
            // A caller that comes with every commit does not wait for a writer.
            try? DatabaseOpener.withoutWaiting(on: connection) { try nameJournal() }
        }
        guard try isNamed && journal.canRecord(afterDigesting: metadata.position(.digested)) else {
            return false
        }
        if isGapped { isGapped = !journal.append(boundaries, mark: mark(of: boundaries)) }
        return !isGapped
    }

    /// What stands for the log row of the last boundary in a journal.
    func mark(of boundaries: [Boundary]) -> Int64? {
        anchor.row.flatMap { $0.seq == boundaries.last?.last ? $0.mark : nil }
    }

    /// Whether this process is a daemon, which repairs the triggers by itself.
    var hasJournal: Bool { journal != nil }

    func nameJournal() throws {
        guard let path = journal?.path else { return }
        // Who may not write the file tells nothing that a later reader could tell otherwise.
        isNamed =
            try NamedJournals.isNamed(path, in: metadata, identity: identity)
            || sqlite3_db_readonly(connection, "main") != 0
        guard !isNamed else { return }
        try RawTransaction.write(on: connection, didCommit: didCommit) {
            try NamedJournals.name(path, in: metadata, identity: identity)
        }
        isNamed = true
    }
}

import SyncStorage
import SyncValues

/// The ends of commits for a process that writes all of them to the history tables in a write
/// transaction of its own, as a merge does.
///
/// As for other readers: what a daemon has told, or tells meanwhile, keeps its numbers.
extension LiveLog {
    /// Log rows that are left for the write transaction: their digest takes some milliseconds.
    package static let leftRowsMax: Int64 = 2_000

    /// Moves to the history tables what is committed, beside a daemon or where it is much, so that
    /// little is left for the write transaction: this is done in slices, between which others
    /// write.
    ///
    /// - Parameter rowsMax: without a daemon no more log rows than these are left.
    /// - Throws: as ``poll()``.
    package func settleBeforeWriting(leaving rowsMax: Int64 = leftRowsMax) throws {
        guard !hasJournal else { return }
        if try NamedJournals(metadata, identity: identity).isEmpty {
            let newest = try Statement(LogTable.newestSQL, on: connection)
            defer { newest.reset() }
            let last = try newest.step() ? newest.integer(0) : 0
            guard try last - metadata.position(.digested) > rowsMax else { return }
        }
        _ = try settle()
    }

    /// The ends of the commits that are not in the history tables. To be called while no other
    /// process can commit. The locks of the journals of daemons are held until ``endWriting()``.
    ///
    /// - Throws: `notAllowed` when a daemon's journal cannot be read; ``CommitsRanTogether``; as
    ///   ``poll()``.
    package func boundariesForWriting() throws -> [Boundary] {
        let pending = try pendingBoundaries()
        // Where all is in the history tables, a journal that cannot be read is no obstacle.
        if hasJournal || pending.isEmpty { return pending }
        let journals = try writersJournals ?? NamedJournals(metadata, identity: identity)
        if let path = journals.unreadable {
            throw SyncError(
                .notAllowed, "the daemon's journal \(path) cannot be read",
                hint: "Leave this to the daemon, or run the command as its user")
        }
        if writersJournals == nil {
            try journals.lock()
            writersJournals = journals
        }
        let recorded = journals.boundaries
        _ = try pendingBoundaries()
        try adopt(recorded)
        let end = recorded.last { $0.last <= bounded }?.last ?? 0
        if !journals.isEmpty, boundaries.contains(where: { $0.last > end && !$0.isExact }) {
            throw CommitsRanTogether()
        }
        return boundaries
    }

    /// Releases the locks that ``boundariesForWriting()`` took.
    package func endWriting() {
        writersJournals?.release()
        writersJournals = nil
    }
}

/// Commits that could not be told apart, and that a daemon may be telling apart at this moment.
package struct CommitsRanTogether: Error {}

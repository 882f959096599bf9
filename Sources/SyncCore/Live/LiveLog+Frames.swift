import SyncStorage
import SyncValues

/// Reading small commits from their frames in the WAL, without a read transaction: the usual case
/// of a notice, where beginning the transaction and eight statements take longer than all the rest.
extension LiveLog {
    /// What was committed since the last call, when it is no more than a few commits that
    /// ``LogTail`` can read, of changes alone; nil, and nothing was noted: ask SQL.
    ///
    /// To be called while ``isRecording()``. Nothing is digested meanwhile: the journal is locked,
    /// as in every look, and `digested` is as it was when the tail was found. Always nil beside
    /// another daemon, whose journal is to be read in the same transaction.
    /// - Throws: the error of SQLite; `diskFull` when the ends of the commits cannot be recorded.
    func pollFrames() throws -> PollResult? {
        guard var tail, let journal, let peers, peers.isEmpty, unrecorded.isEmpty,
            let index = commits.index, seen == bounded, tail.end == bounded,
            resolver.births.end >= seen,
            tail.position == commits.position, let file = SQLiteFile.journal(connection)
        else { return nil }
        var found: [(boundary: Boundary, records: [LogRecord])] = []
        do {
            peers.lock()
            defer { peers.release() }
            var records: [LogRecord] = []
            let catalog = catalog
            let read = index.header().flatMap {
                tail.advance(to: $0, of: index, file: file) { row in
                    HistoryAnchor.Row(row) == anchor.row
                } taking: { row in
                    guard let record = row.record(catalog) else { return false }
                    records.append(record)
                    return true
                }
            }
            // A commit of other tables says nothing about the log: whether it is the same still is
            // for SQL to say.
            guard let read, let last = read.last?.rows.last else { return nil }
            frameLookCount += 1
            commits.advance(to: tail.position)
            self.tail = tail
            for commit in read {
                found.append(
                    (
                        Boundary(last: commit.rows[commit.rows.count - 1].seq, isExact: true),
                        Array(records.prefix(commit.rows.count))
                    ))
                records.removeFirst(commit.rows.count)
            }
            let new = found.map(\.boundary)
            boundaries += new
            bounded = last.seq
            anchor.move(to: HistoryAnchor.Row(last))
            guard journal.append(new, mark: mark(of: new)) else {
                isGapped = true
                throw SyncError(.diskFull, journal.fault ?? "the journal cannot be written")
            }
        }
        return try transactions(of: found)
    }

    private func transactions(
        of commits: [(boundary: Boundary, records: [LogRecord])]
    ) throws -> PollResult {
        var result = PollResult(schemaChanged: false)
        var isComplete = true
        var end = seen
        for (boundary, records) in commits {
            let pending = assembler.transaction(of: records, after: end, endingAt: boundary)
            end = boundary.last
            guard let pending else { continue }
            if pending.unassembled != nil {
                lastLarge = pending.number
                result.tooLarge = true
                isComplete = false
                break
            }
            result.transactions.append(try resolver.resolve(pending: pending))
        }
        // After an error SQL reads them again.
        seen = bounded
        if isComplete { resolver.births.complete(upTo: seen) }
        return result
    }

    /// Where the log ends in the present transaction; nil when frames cannot be read after it.
    func findTail() throws -> LogTail? {
        guard let index = commits.index, let position = commits.position,
            let snapshot = WalSnapshot(connection, index: index, at: position)
        else { return nil }
        if roots?.schema != schema {
            roots = try LogTail.Roots(
                connection, schema: schema, log: LogTable.name, settings: Metadata.name)
        }
        return roots.flatMap {
            LogTail(snapshot, position: position, roots: $0, end: bounded)
        }
    }
}

extension HistoryAnchor.Row {
    fileprivate init(_ row: LogRow) {
        self.init(seq: row.seq, op: row.op, mask: row.m, time: row.time ?? 0)
    }
}

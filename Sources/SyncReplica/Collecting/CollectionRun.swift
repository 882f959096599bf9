import SyncMerge

/// One collection: short write transactions, and one read of the whole state beside writers.
///
/// An object is dropped in two rounds: it is marked when it is dead and no kept record refers to
/// it, at the vector of that moment; a later round drops it when every present replica has merged
/// that vector.
struct CollectionRun {
    let session: MergeSession
    /// How long a replica may be away before it is not waited for, milliseconds.
    let lease: Int64
    /// Objects marked or dropped in one transaction.
    let slice: Int
    /// A state with more facts is not collected.
    let factsMax: Int

    /// Runs the rounds that are due.
    /// - Throws: `busy`, and SQLite errors. What was dropped before stays dropped.
    /// - Complexity: O(facts of the store), beside writers.
    func run() throws -> CollectionReport {
        var report = CollectionReport()
        let round = Int64.random(in: 1...Int64.max)
        let (stable, now) = try session.transact { transaction in
            let now = try transaction.observeClock()
            let peers = PeerAcknowledgements(transaction)
            try peers.note([:], at: now)
            try transaction.storage.marks.begin(round: round)
            return (try peers.stableCut(at: now, lease: lease), now)
        }
        try mark(round: round)
        // After a change of the schema there is no survey: the next collection has one.
        guard let survey = try session.read({ try CollectionSurvey($0) }),
            survey.factCount <= factsMax
        else { return report }
        try end(round: round, survey: survey)
        try mendTotals()
        report.objects = try dropObjects(stable: stable)
        report.transactions = try dropHeaders(stable: stable, besides: survey.used)
        try session.transact { transaction in
            try transaction.storage.headers.dropUnusedRuns()
            try transaction.settings.set(.collectedAt, to: .integer(now))
        }
        return report
    }

    private func mark(round: Int64) throws {
        var row: Int64? = 0
        while let last = row {
            row = try session.transact {
                try $0.storage.marks.mark(round: round, after: last, count: slice)
            }
        }
    }

    private func end(round: Int64, survey: CollectionSurvey) throws {
        var needed = Array(survey.needed)
        while !needed.isEmpty {
            try session.transact { try $0.storage.marks.remove(from: needed.suffix(slice)) }
            needed.removeLast(min(slice, needed.count))
        }
        try session.transact { transaction in
            try transaction.storage.marks.end(
                round: round, at: transaction.storage.headers.vector())
        }
    }

    /// Everything has just been read: the totals are compared with it. Where a record was changed
    /// past this program, the next comparison with another replica finds the difference.
    private func mendTotals() throws {
        let wrong = try session.read { storage in
            try storage.totals.reload()
            return try storage.totals.wrong(objects: storage.objects)
        }
        guard let wrong, !wrong.isEmpty else { return }
        try session.transact { transaction in
            try transaction.storage.totals.forget()
            try transaction.storage.sums.forget()
        }
    }

    private func dropObjects(stable: VersionVector) throws -> Int {
        var dropped = 0
        while true {
            let count = try session.transact {
                try StableDropping($0, stable: stable).dropObjects(count: slice)
            }
            if count == 0 { return dropped }
            dropped += count
        }
    }

    private func dropHeaders(stable: VersionVector, besides used: Set<Dot>) throws -> Int {
        var dropped = 0
        var place: Int64? = 0
        while let last = place {
            let step = try session.transact {
                try StableDropping($0, stable: stable).dropHeaders(
                    besides: used, after: last, count: 4 * slice)
            }
            place = step.place
            dropped += step.dropped
        }
        return dropped
    }
}

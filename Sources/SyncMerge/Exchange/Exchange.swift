import SyncValues

/// Moves batches between a replica and a remote.
///
/// There is no state between calls: the next exchange continues an interrupted one, because both
/// sides state what they have. Everything may be repeated.
package struct Exchange<Local: Replica, Peer: Remote>: Sendable {
    /// What an exchange moved.
    package typealias Report = ExchangeReport

    /// The replica.
    package let replica: Local
    /// The remote.
    package let remote: Peer
    /// How far the remote led after an exchange before.
    private let knownReach: @Sendable () async throws -> VersionVector
    private let progress: @Sendable (Report) -> Void

    /// How often in succession a batch may vanish between catalog and fetch.
    private static var vanishedMax: Int { 8 }

    /// How many batches in succession may lead no further: a remote that invents names would keep
    /// the exchange for as long as it likes.
    private static var uselessMax: Int { 1000 }

    /// The errors of a batch that is passed over: the rest is merged.
    private static var passable: Set<SyncError.Code> {
        [.badData, .notSigned, .forked, .impostor, .notMember]
    }

    /// An exchange between a replica and a remote.
    /// - Parameters:
    ///   - knownReach: how far the remote led after an exchange before; asked where some of it
    ///     cannot be read.
    ///   - progress: called after each batch, with what was moved so far.
    package init(
        _ replica: Local, with remote: Peer,
        knownReach: @escaping @Sendable () async throws -> VersionVector = { VersionVector() },
        progress: @escaping @Sendable (Report) -> Void = { _ in }
    ) {
        self.replica = replica
        self.remote = remote
        self.knownReach = knownReach
        self.progress = progress
    }

    /// Sends what the remote lacks, one batch after the other: memory does not grow with it.
    /// - Throws: `unreachable`, `refused` when the remote has transactions under the replica's
    ///   identity that it did not write, and the errors of the replica. What was sent until then
    ///   stays.
    package func push() async throws -> Report {
        var report = Report()
        try await replica.requireMembership()
        let members = try await replica.membership
        let own = try await replica.replicaID
        let (survey, known) = try await survey(for: members)
        report.problems = survey.unread
        var head = survey.vector
        // The admission must not depend on the batches of the one who is admitted.
        if head[own] < members.decided {
            head = try await remote.head(for: members.beforeDecisions)
        }
        if remote.keepsBatches { report.found = head }
        report.head = head
        try await requireOwn(upTo: head)
        let since = try await startOfPush(from: head, knowing: known)
            .meet(try await replica.vector)
        let outgoing = try await replica.outgoing(since: since)
        for place in 0..<outgoing.count {
            let batch = try outgoing.batch(at: place)
            let envelope = try BatchEnvelope.read(batch).envelope
            try await remote.append(batch)
            report.pushedCount += envelope.transactionCount
            report.bytes += batch.count
            report.head?.join(envelope.upTo)
            progress(report)
        }
        report.bytes += try await answer()
        do {
            report.compactedCount = try await Compaction(of: replica, at: remote).run()
            try await remote.removeUnusable(upTo: replica.vector[own])
        } catch let error as SyncError {
            // All that had to be sent has been sent. The next push tries again.
            report.problems.append(.init(name: "compaction", reason: error.reason))
        }
        report.differences = try await compare()
        return report
    }

    /// How far the remote leads. What is there and cannot be read was not removed: up to where the
    /// remote led before, it is not sent again, but for own transactions, which are in the own
    /// folder.
    /// - Returns: also what was taken as known: nothing where all can be read.
    private func survey(
        for members: Membership
    ) async throws -> (RemoteHead, known: VersionVector) {
        let survey = try await remote.survey(for: members, knowing: VersionVector())
        guard !survey.unread.isEmpty else { return (survey, VersionVector()) }
        let own = try await replica.replicaID
        let known = VersionVector(try await knownReach().entries.filter { $0.replica != own })
        return (try await remote.survey(for: members, knowing: known), known)
    }

    /// Sends a snapshot that another replica requested because it missed a collection, unless there
    /// is one of this replica already: nobody believes the snapshot of one member alone.
    /// - Returns: how many bytes.
    private func answer() async throws -> Int {
        let requested = try await remote.requestedSnapshots()
        guard !requested.isEmpty else { return 0 }
        let own: Set<ReplicaID> = [try await replica.replicaID]
        let catalog = try await remote.catalog(since: VersionVector())
        let vector = try await replica.vector
        let open = requested.filter {
            vector.covers($0) && catalog.confirmation(of: $0, by: own) == nil
        }
        guard !open.isEmpty else { return 0 }
        let outgoing = try await replica.outgoing(since: VersionVector())
        guard outgoing.count == 1 else { return 0 }
        let first = try outgoing.batch(at: 0)
        let envelope = try BatchEnvelope.read(first).envelope
        guard open.contains(where: envelope.upTo.covers) else { return 0 }
        try await remote.append(first)
        return first.count
    }

    /// Merges what the remote has and the replica lacks. A batch that turns out to be damaged is
    /// skipped and reported; other batches are used in its place where they lead as far.
    /// - Throws: `unreachable`, `refused` when the remote has transactions under the replica's
    ///   identity that it did not write, and the errors of the replica. What was merged until then
    ///   stays.
    package func pull() async throws -> Report {
        var report = try await merge()
        report.waiting = try await replica.waiting
        do {
            try await remote.acknowledge(try await replica.vector, of: try await replica.replicaID)
            try await replica.noteAcknowledged(try await remote.acknowledged())
            try await remote.requestSnapshot(covering: try await replica.behind)
            try await remote.noteDamaged(report.damaged)
        } catch let error as SyncError where [.notAllowed, .diskFull].contains(error.code) {
            // A remote that may only be read can still be merged.
        }
        report.differences = try await compare()
        return report
    }

    /// States what this replica holds, and compares what others have stated.
    private func compare() async throws -> [StateDifference] {
        let sums = try await replica.sums
        do {
            if let sums { try await remote.noteSums(sums, of: try await replica.replicaID) }
        } catch let error as SyncError where [.notAllowed, .diskFull].contains(error.code) {
            // A remote that may only be read can still be compared with.
        }
        return try await replica.compare(try await remote.notedSums())
    }

    /// Merges like ``pull()`` without acknowledging: for a copy that is only read.
    /// - Throws: as ``pull()``.
    package func mergeOnly() async throws -> Report { try await merge() }

    /// Merges one path through the catalog after the other, until none leads further.
    ///
    /// A batch that is not there any more has been replaced by another one that leads as far: the
    /// catalog is read again.
    private func merge() async throws -> Report {
        var report = Report()
        var vanished = 0
        var useless = (count: 0, at: VersionVector())
        var passedOver: Set<String> = []
        let store = try await replica.store
        // Up to where what the remote has of this replica was compared.
        var compared: Int64 = 0
        // For what a remote that makes batches on demand has no snapshot.
        var unanswered = VersionVector()
        var members = try await replica.membership
        while true {
            let behind = try await replica.behind
            let vector = try await replica.vector
            let wantsSnapshot = !behind.isEmpty && behind != unanswered
            let catalog = try await remote.catalog(since: wantsSnapshot ? VersionVector() : vector)
            report.problems += catalog.problems.filter { !report.problems.contains($0) }
            if remote.keepsBatches, report.found == nil {
                report.found = catalog.reach(since: VersionVector(), for: members)
            }
            if Self.isLeftOut(of: catalog, members) { return report }
            let all = catalog.items.filter { $0.envelope.store == store }
            let usable = all.filter { !passedOver.contains($0.name) }
            useless = (vector == useless.at ? useless.count + 1 : 0, vector)
            guard useless.count <= Self.uselessMax else { throw Self.useless(report.problems) }
            if try await hasCompared(usable, beyond: &compared) { continue }
            let next = try await path(through: BatchCatalog(usable), from: vector, behind: behind)
            guard !next.isEmpty else {
                if wantsSnapshot, !remote.keepsBatches {
                    // There may be more than the portion that everything begins with.
                    unanswered = behind
                    continue
                }
                report.problems.removeAll { Self.isSettled($0, by: vector) }
                return report
            }
            for item in next {
                do {
                    let bytes = try await remote.fetch(item)
                    guard try await replica.merge(bytes) else {
                        throw SyncError(.badData, "the batch starts after what its envelope says")
                    }
                    report.bytes += bytes.count
                } catch let error as SyncError where Self.passable.contains(error.code) {
                    passedOver.insert(item.name)
                    report.skip(item.name, error)
                    break
                } catch let error as SyncError
                    where error.code == .unreachable && vanished < Self.vanishedMax
                {
                    vanished += 1
                    break
                }
                vanished = 0
                // A batch that led no further must not be taken again.
                passedOver.insert(item.name)
                report.pulledCount += item.envelope.transactionCount
                progress(report)
            }
            let present = try await replica.membership
            if present != members {
                let admitted = Self.admitted(by: present, notBy: members, of: all)
                members = present
                passedOver.subtract(admitted)
                report.problems.removeAll { admitted.contains($0.name) }
            }
        }
    }

    /// Whether a batch that was left out would lead no further.
    private static func isSettled(
        _ problem: BatchCatalog.Problem, by vector: VersionVector
    ) -> Bool {
        problem.missingKey == nil && problem.envelope.map { vector.covers($0.upTo) } == true
    }

    /// The names of the batches whose senders were admitted: another batch has brought it.
    private static func admitted(
        by members: Membership, notBy former: Membership, of items: [BatchCatalog.Item]
    ) -> Set<String> {
        Set(
            items.filter {
                members.accepts(sender: $0.envelope.sender)
                    && !former.accepts(sender: $0.envelope.sender)
            }.map(\.name))
    }

    /// Compares what batches have of this replica, beyond a number, with what it wrote.
    /// - Returns: whether the catalog has to be read again: a remote that makes batches on demand
    ///   has listed others meanwhile.
    private func hasCompared(
        _ items: [BatchCatalog.Item], beyond compared: inout Int64
    ) async throws -> Bool {
        let claimed = items.reduce(into: VersionVector()) { $0.join($1.envelope.upTo) }
        guard claimed[try await replica.replicaID] > compared,
            let number = try await requireOwn(upTo: claimed)
        else { return false }
        compared = number
        return !remote.keepsBatches
    }

    /// Whether a member uses a new key: who was left out may have sent what can still be read.
    private static func isLeftOut(of catalog: BatchCatalog, _ members: Membership) -> Bool {
        catalog.problems.contains {
            $0.missingKey != nil && $0.envelope.map(members.hasSigned) == true
        }
    }

    private static func useless(_ problems: [BatchCatalog.Problem]) -> SyncError {
        let last = problems.last.map { " (the last one: \($0.reason))" } ?? ""
        return SyncError(
            .badData,
            "the remote offered \(uselessMax) batches in succession that led no further" + last,
            hint: "Synchronise from a replica that wrote them, or with another remote: "
                + "synctool remote list DB")
    }

    /// What is merged next of a catalog: the snapshot that the replica needs, or what leads on.
    private func path(
        through catalog: BatchCatalog, from vector: VersionVector, behind: VersionVector
    ) async throws -> [BatchCatalog.Item] {
        let awaited = try await replica.awaited
        let snapshot =
            awaited.isEmpty
            ? catalog.snapshot(collected: behind)
            : catalog.confirmation(of: behind, by: awaited)
        if let snapshot { return [snapshot] }
        return catalog.path(since: vector)
    }

    /// Pulls, then pushes.
    /// - Throws: as ``pull()`` and ``push()``.
    package func sync() async throws -> Report {
        var report = try await pull()
        report.add(try await push())
        return report
    }
}

import SyncMerge
import SyncValues

/// What a snapshot with gaps leaves out, at a replica that needed one: *doubtful* until the other
/// members confirm it.
///
/// Rules
/// - The word of one member removes nothing that another one wrote. A fact that a snapshot leaves
///   out stays, and is shown, until it is missing in a snapshot of each member that is waited for:
///   those that have been here within their lease, and the writer of the fact where it signs; not
///   those that this replica itself has removed. A removal that another one decided does not end
///   the waiting: else one member could remove all that contradict it, and then the rows.
/// - Whether all have confirmed it is asked with each batch, and when who is waited for may have
///   changed: with each acknowledgement and each decision about members.
/// - A member that has merged the cut of the doubt and whose snapshot has the fact ends the doubt:
///   the object stays, and is stated again, so that those who have dropped it get it back. What is
///   doubtful here is in the snapshots that this replica sends: of two that were both away, each
///   keeps what the other one has.
struct SnapshotDoubts {
    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    /// Nil: it is only asked who is waited for.
    private let batch: Batch?
    private var doubts: DoubtStorage.Doubts = [:]
    private var isChanged = false
    private var isRaised = false
    /// The objects that stay: with doubtful facts that the batch has, or because this replica
    /// itself knows that nobody deleted them.
    private var held: Set<ObjectUID> = []

    init(about batch: Batch?, in transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
        self.batch = batch
    }

    /// Takes out what is confirmed now, without a batch: a member that was waited for has been
    /// removed, or was away for longer than its lease.
    /// - Throws: as ``RegionUpdate/show(_:transactions:hints:adding:)``.
    /// - Complexity: O(doubts, and what is unresolved)
    static func settle(in transaction: MergeTransaction) throws {
        guard try !transaction.storage.doubts.isEmpty else { return }
        var doubts = SnapshotDoubts(about: nil, in: transaction)
        let dropped = try doubts.confirmed(besides: SnapshotGaps.LeftOut())
        guard !dropped.isEmpty else { return }
        let loader = try RegionLoader(transaction.storage)
        try loader.add(dropped.keys.sorted())
        try RegionUpdate(transaction).show(loader, transactions: []) { state in
            for (uid, record) in dropped { state.objects[uid] = record }
        }
        try doubts.deleteEmpty(dropped.keys)
        try doubts.store()
    }

    /// Notes what the batch says, and takes out what is confirmed.
    /// - Parameter leftOut: what is here and what the batch leaves out.
    /// - Returns: the objects with confirmed facts, with the remaining facts of their records: of
    ///   most, none.
    /// - Throws: SQLite errors; `corrupt`.
    /// - Complexity: O(doubts, and facts of the batch)
    mutating func confirmed(
        besides leftOut: SnapshotGaps.LeftOut
    ) throws -> [ObjectUID: ObjectRecord] {
        doubts = try storage.doubts.all()
        let missing = leftOut.missing
        held = leftOut.kept
        guard !doubts.isEmpty || !missing.isEmpty else { return [:] }
        isChanged = true
        // An own snapshot that comes back is the word of no other member.
        if let batch, batch.isSnapshot, batch.sender != transaction.identity.replica {
            try note(batch)
            for (uid, dots) in missing {
                for dot in dots { doubts[uid, default: [:]][dot, default: []].insert(batch.sender) }
            }
            isRaised = !missing.isEmpty
        }
        let members = try DoubtMembers(transaction)
        var remaining: [ObjectUID: ObjectRecord] = [:]
        for (uid, dots) in doubts {
            let confirmed = dots.filter { members.awaited(for: $0.key, besides: $0.value).isEmpty }
            guard !confirmed.isEmpty, var record = try storage.objects.object(uid)?.record else {
                continue
            }
            record.life.removeAll { confirmed[$0.dot] != nil }
            for cell in record.cells.indices {
                record.cells[cell].removeAll { confirmed[$0.dot] != nil }
            }
            remaining[uid] = record
        }
        return remaining
    }

    /// What the snapshot says of the facts that were doubtful before.
    private mutating func note(_ batch: Batch) throws {
        let end = batch.goal ?? batch.upTo
        let isNewer = end.covers(try transaction.settings.vector(.doubted))
        var facts: [ObjectUID: Set<Dot>] = [:]
        for fact in batch.facts {
            guard let uid = fact.object, doubts[uid] != nil else { continue }
            facts[uid, default: []].insert(fact.dot)
        }
        for (uid, dots) in doubts {
            for dot in dots.keys where batch.upTo.covers(dot) && !batch.from.covers(dot) {
                if facts[uid]?.contains(dot) == true {
                    // Before the cut it may have been there, and nobody has it any more.
                    guard isNewer else { continue }
                    doubts[uid]?[dot] = nil
                    held.insert(uid)
                } else {
                    doubts[uid]?[dot]?.insert(batch.sender)
                }
            }
        }
    }

    /// Deletes the objects without a remaining fact.
    /// - Throws: SQLite errors.
    /// - Complexity: O(objects)
    func deleteEmpty(_ uids: some Sequence<ObjectUID>) throws {
        for uid in uids {
            guard let object = try storage.objects.object(uid), object.record.dots.isEmpty else {
                continue
            }
            try storage.objects.remove(uid)
        }
    }

    /// States again what another member has, too, after the batch was merged. Of deleted objects
    /// that no row shows there is nothing to state: a transaction without a fact would be answered
    /// by the next snapshot that leaves them out, and that by another transaction, without end.
    ///
    /// Cells without a life fact are those of a deleted object: the delete overwrote the creation
    /// before they were sent, and was collected before it came. The delete is stated again: else
    /// these cells would stay, hidden, at those that have them, and nowhere else.
    /// - Throws: as ``AuthoredRecording``.
    /// - Complexity: O(objects, and what is unresolved)
    func keep() throws {
        guard !held.isEmpty else { return }
        let recording = AuthoredRecording(transaction, author: nil, context: "kept")
        try recording.recordUnlessEmpty(about: held.sorted()) { recorder, view in
            for uid in held.sorted() {
                if recorder.isAlive(uid) || view.revived.contains(uid) {
                    recorder.restate(uid)
                } else {
                    recorder.deleteUnborn(uid)
                }
            }
        }
    }

    /// Stores what remains doubtful, after the batch was merged: facts that were dropped, or that
    /// others have overwritten since, are not.
    /// - Throws: SQLite errors.
    /// - Complexity: O(doubts)
    func store() throws {
        guard isChanged else { return }
        var remaining: DoubtStorage.Doubts = [:]
        for (uid, dots) in doubts where !dots.isEmpty {
            guard let object = try storage.objects.object(uid) else { continue }
            let present = Set(object.record.dots)
            let rest = dots.filter { present.contains($0.key) }
            if !rest.isEmpty { remaining[uid] = rest }
        }
        try storage.doubts.replace(with: remaining)
        if remaining.isEmpty {
            try transaction.settings.set(.doubted, to: VersionVector())
        } else if isRaised, let batch {
            let cut = try transaction.settings.vector(.doubted)
            try transaction.settings.set(.doubted, to: cut.joined(batch.upTo.meet(batch.collected)))
        }
    }
}

/// The members whose snapshots have to confirm what one of them says.
struct DoubtMembers {
    private let present: Set<ReplicaID>
    private let signers: Set<ReplicaID>
    private let own: ReplicaID

    /// - Throws: SQLite errors.
    init(_ transaction: MergeTransaction) throws {
        let storage = transaction.storage
        let members = try storage.members.all()
        own = transaction.identity.replica
        let now = try transaction.observeClock()
        let lease = PeerStorage.lease.milliseconds
        let all = try storage.signers.all()
        let isRemoved: (ReplicaID) -> Bool = { [own] replica in
            let decision = members.bySubject[replica]
            return all[replica]?.isRemoved == true
                || decision?.kind == .removed && decision?.decider == own
        }
        present = Set(
            try storage.peers.all().filter {
                !$0.value.isAbsent(at: now, lease: lease) && !isRemoved($0.key)
            }.keys)
        signers = Set(all.keys.filter { !isRemoved($0) })
    }

    /// Those that have not confirmed that a fact is gone.
    func awaited(for dot: Dot, besides confirmed: Set<ReplicaID>) -> Set<ReplicaID> {
        var awaited = present
        if signers.contains(dot.replica) { awaited.insert(dot.replica) }
        awaited.remove(own)
        return awaited.subtracting(confirmed)
    }
}

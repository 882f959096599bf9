import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Merging the snapshot of a store that has collected: a fact that the snapshot's vector covers and
/// that is not in it was dropped there.
///
/// Invariants of the settings
/// - `collected`: a replica that lacks a transaction up to this vector needs a snapshot from here.
/// - `behind`: something was written here that a collecting replica had not seen, without having
///   seen what it collected. Until this replica has merged a snapshot that covers the vector,
///   batches of changes do not tell it which objects were dropped.
/// - `answered`: the cut of the snapshot that was merged last of those that this replica needed.
///   What was written here without having seen that cut needs no other one.
/// - `returned`: up to this vector, this replica knows from snapshots alone what was dropped. A
///   snapshot may have had rows that were doubtful at its sender: they are here like any other.
struct SnapshotGaps {
    /// What a snapshot leaves out and is here.
    struct LeftOut {
        /// Facts that the sender dropped, by object: to be confirmed by other members.
        var missing: [ObjectUID: Set<Dot>] = [:]
        /// Rows that came with another member's snapshot, and that nobody deleted as far as this
        /// replica knows: they stay, and are stated again. Also cells of objects whose creation was
        /// overwritten before they came.
        var kept: Set<ObjectUID> = []
    }

    private let transaction: MergeTransaction
    private let storage: ReplicaStorage
    private let batch: Batch
    /// What this replica had merged before the batch.
    private let merged: VersionVector

    init(of batch: Batch, merged: VersionVector, in transaction: MergeTransaction) {
        self.transaction = transaction
        storage = transaction.storage
        self.batch = batch
        self.merged = merged
    }

    private var settings: Metadata { transaction.settings }

    // MARK: Dropped objects

    /// The facts that are here, that the sender of a snapshot had merged, and that the snapshot
    /// does not have: they were overwritten there, or dropped with their object after all replicas
    /// that were waited for knew that it is dead. This replica did not take part: it was away for
    /// longer than its lease. What it wrote meanwhile is not among them.
    ///
    /// They are dropped when other members confirm it (``SnapshotDoubts``), and only by a replica
    /// that is behind a cut, or still waits for such a confirmation. Any other one has merged the
    /// deletes themselves.
    /// - Throws: `badData` when this replica needs no snapshot, and this one leaves out rows that
    ///   are here or claims more than it has; SQLite errors.
    /// - Complexity: O(objects of the store), unless this replica was empty.
    func leftOut() throws -> LeftOut {
        let known = merged.meet(batch.upTo).meet(batch.collected)
        guard batch.hasGaps, !batch.from.covers(known) else { return LeftOut() }
        let isBehind = try isBehind()
        let isNeeded = try isBehind || !settings.vector(.doubted).isEmpty
        let returned = try settings.vector(.returned)
        var lostCount = 0
        var facts: [ObjectUID: Set<Dot>] = [:]
        for fact in batch.facts {
            if let uid = fact.object { facts[uid, default: []].insert(fact.dot) }
        }
        var leftOut = LeftOut()
        try storage.objects.forEach { uid, object in
            let dots = object.record.dots
            let dropped = dots.filter {
                known.covers($0) && !batch.from.covers($0) && facts[uid]?.contains($0) != true
            }
            guard !dropped.isEmpty else { return }
            guard !isNeeded else {
                leftOut.missing[uid] = Set(dropped)
                return
            }
            // Where the snapshot has other facts of the object, these decide.
            guard dropped.count == dots.count, facts[uid] == nil else { return }
            let isUnborn = object.record.life.isEmpty
            guard object.key != nil || isUnborn else { return }
            if dots.allSatisfy(returned.covers) {
                leftOut.kept.insert(uid)
            } else if !isUnborn {
                lostCount += 1
            }
        }
        try requireWhole(lostCount: lostCount, isBehind: isBehind)
        return leftOut
    }

    private func requireWhole(lostCount: Int, isBehind: Bool) throws {
        guard lostCount == 0 else {
            throw SyncError(
                .badData,
                "the snapshot, written by replica \(batch.sender), leaves out \(lostCount) rows "
                    + "that are here and that nobody deleted")
        }
        let reached = batch.transactions.reduce(into: merged) { $0.advance(to: $1.header.dot) }
        guard isBehind || reached.covers(batch.upTo) else {
            throw SyncError(
                .badData,
                "the snapshot, written by replica \(batch.sender), claims transactions that it "
                    + "does not have")
        }
    }

    /// Whether this replica needs a snapshot with gaps: it lacks something that was collected at
    /// its sender, or it wrote something without having seen a cut.
    private func isBehind() throws -> Bool {
        guard merged.covers(batch.collected) else { return true }
        return try !settings.vector(.behind).isEmpty
    }

    // MARK: Metadata

    /// Stores how far the sender of the batch has collected, after the batch was merged.
    ///
    /// A replica that merges a snapshot with gaps has these gaps itself. A replica that wrote
    /// something a collecting replica had not seen, without having seen all that it collected, was
    /// not asked: it needs such a snapshot, because batches of changes do not say what was dropped.
    /// - Throws: SQLite errors.
    func store() throws {
        guard !batch.collected.isEmpty else { return }
        if batch.hasGaps {
            try storage.headers.raise(to: batch.upTo)
            let collected = try settings.vector(.collected)
            if !collected.covers(batch.collected), !merged.covers(batch.collected) {
                try settings.set(.collected, to: collected.joined(batch.collected))
            }
            let behind = try settings.vector(.behind)
            if !merged.covers(batch.collected) || !behind.isEmpty {
                let returned = try settings.vector(.returned)
                try settings.set(.returned, to: returned.joined(batch.collected))
            }
            if batch.upTo.covers(batch.collected), batch.collected.covers(behind) {
                if !behind.isEmpty { try settings.set(.answered, to: batch.collected) }
                try settings.set(.behind, to: VersionVector())
            }
        } else if try isLate(for: batch.collected) {
            try settings.set(.behind, to: settings.vector(.behind).joined(batch.collected))
        }
    }

    /// Whether something was written here after a cut without having seen the cut.
    private func isLate(for cut: VersionVector) throws -> Bool {
        let own = transaction.identity.replica
        guard try !settings.vector(.collected).covers(cut),
            try !settings.vector(.answered).covers(cut),
            let first = try storage.headers.first(of: own, after: cut[own])
        else { return false }
        return !first.seen.joined(VersionVector([Dot(own, cut[own])])).covers(cut)
    }
}

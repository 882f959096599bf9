import SyncCore
import SyncMerge
import SyncStorage
import SyncValues

/// Merging the snapshot of a store that has collected: what it does not tell of is not merely old,
/// it is gone.
extension MergeWork {
    /// What is here and was collected at the sender of a snapshot: objects with what is left of
    /// their records, nothing of most.
    ///
    /// A fact that the sender has merged and does not tell of was overwritten there, or dropped
    /// with its object when all replicas knew it to be dead. This replica was not asked: it had
    /// been away for longer than its lease. What it wrote meanwhile stays.
    ///
    /// Only a replica that is behind a cut takes it so (``isBehind(_:_:)``). Any other has merged
    /// the deletes themselves, and drops nothing for what a snapshot does not tell.
    /// - Throws: `badData` when it is not behind, and the snapshot leaves out rows that are here or
    ///   claims more than it has.
    /// - Complexity: O(objects of the store), for whoever had merged something before.
    func gone(
        by batch: Batch, _ merged: VersionVector
    ) throws -> [ObjectUID: ObjectRecord] {
        let known = merged.meet(batch.upTo).meet(batch.collected)
        guard batch.hasGaps, !batch.from.covers(known) else { return [:] }
        let isBehind = try isBehind(batch, merged)
        var leftOutCount = 0
        var facts: [ObjectUID: Set<Dot>] = [:]
        for fact in batch.facts {
            if let uid = fact.object { facts[uid, default: []].insert(fact.dot) }
        }
        func isGone(_ uid: ObjectUID, _ dot: Dot) -> Bool {
            known.covers(dot) && !batch.from.covers(dot) && facts[uid]?.contains(dot) != true
        }
        var gone: [ObjectUID: ObjectRecord] = [:]
        try prepared.objects.forEach(after: -1) { uid, object in
            guard object.record.dots.contains(where: { isGone(uid, $0) }) else { return }
            guard isBehind else {
                // Where the snapshot tells something else of it, that decides.
                let isWhole = object.record.dots.allSatisfy { isGone(uid, $0) }
                if isWhole, facts[uid] == nil, object.key != nil { leftOutCount += 1 }
                return
            }
            var record = object.record
            record.life.removeAll { isGone(uid, $0.dot) }
            for cell in record.cells.indices {
                record.cells[cell].removeAll { isGone(uid, $0.dot) }
            }
            gone[uid] = record
        }
        guard leftOutCount == 0 else {
            throw SyncError(
                .badData,
                "the snapshot, written by replica \(batch.sender), leaves out \(leftOutCount) rows "
                    + "that are here and that nobody deleted")
        }
        let told = batch.transactions.reduce(into: merged) { $0.advance(to: $1.header.dot) }
        guard isBehind || told.covers(batch.upTo) else {
            throw SyncError(
                .badData,
                "the snapshot, written by replica \(batch.sender), claims transactions that it "
                    + "does not have")
        }
        return gone
    }

    /// Whether this replica needs a snapshot with gaps: it lacks something that was collected at
    /// its sender, or it wrote something without having seen a cut (``passGaps(of:_:)``).
    private func isBehind(_ batch: Batch, _ merged: VersionVector) throws -> Bool {
        guard merged.covers(batch.collected) else { return true }
        return try !prepared.history.settings.vector(.behind).isEmpty
    }

    /// Drops the records that nothing is left of.
    func forget(_ uids: some Sequence<ObjectUID>) throws {
        for uid in uids {
            guard let object = try prepared.objects.object(uid), object.record.dots.isEmpty else {
                continue
            }
            try prepared.objects.remove(uid)
        }
    }

    /// Takes note of how far the sender of a batch has collected.
    ///
    /// Who gets a snapshot with gaps has these gaps, too. Who wrote something that a collecting
    /// replica had not seen, without having seen all that it collected behind, was not asked:
    /// it needs such a snapshot, because batches of changes do not say what is gone.
    func passGaps(of batch: Batch, _ merged: VersionVector) throws {
        guard !batch.collected.isEmpty else { return }
        let settings = prepared.history.settings
        if batch.hasGaps {
            try prepared.headers.raise(to: batch.upTo)
            let collected = try settings.vector(.collected)
            if !collected.covers(batch.collected), !merged.covers(batch.collected) {
                try settings.set(.collected, collected.joined(batch.collected))
            }
            let behind = try settings.vector(.behind)
            if batch.upTo.covers(batch.collected), batch.collected.covers(behind) {
                try settings.set(.behind, VersionVector())
            }
        } else if try isLate(for: batch.collected) {
            try settings.set(.behind, settings.vector(.behind).joined(batch.collected))
        }
    }

    /// Whether something was written here without having seen what lies behind a cut, and not
    /// itself behind it.
    private func isLate(for cut: VersionVector) throws -> Bool {
        let own = session.identity.replica
        guard try !prepared.history.settings.vector(.collected).covers(cut),
            let first = try prepared.headers.first(of: own, after: cut[own])
        else { return false }
        return !first.seen.joined(VersionVector([Dot(own, cut[own])])).covers(cut)
    }
}

extension VersionVector {
    /// What either covers.
    func joined(_ other: VersionVector) -> VersionVector {
        var vector = self
        vector.join(other)
        return vector
    }
}

extension Settings {
    /// A vector; empty where there is none.
    func vector(_ key: Key) throws -> VersionVector {
        guard case .blob(let bytes) = try value(key) else { return VersionVector() }
        var reader = ByteReader(bytes)
        return try reader.vector()
    }

    /// Stores a vector.
    func set(_ key: Key, _ vector: VersionVector) throws {
        try set(key, .blob(vector.stored))
    }
}

extension VersionVector {
    /// The vector as our tables have it.
    var stored: [UInt8] {
        var writer = ByteWriter()
        writer.append(self)
        return writer.bytes
    }

    /// Reads ``stored``.
    init(stored bytes: [UInt8]?) throws {
        guard let bytes else {
            self.init()
            return
        }
        var reader = ByteReader(bytes)
        self = try reader.vector()
    }
}

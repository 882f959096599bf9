/// The batches of a remote, and the order in which to merge them.
package struct BatchCatalog: Sendable {
    /// A batch that can be fetched.
    package struct Item: Sendable, Hashable {
        /// Its name at the remote.
        package let name: String
        /// What is known about it.
        package let envelope: BatchEnvelope

        /// Names a batch.
        package init(name: String, envelope: BatchEnvelope) {
            self.name = name
            self.envelope = envelope
        }
    }

    /// A file at the remote that is not a batch of this store, or not yet complete.
    package struct Problem: Sendable, Hashable {
        /// Its name at the remote.
        package let name: String
        /// What is wrong with it.
        package let reason: String
        /// The key that it is encrypted with, where that key is missing.
        package let missingKey: KeyID?
        /// The envelope of an intact batch that is left out.
        package let envelope: BatchEnvelope?
        /// Of a file or folder that is there and cannot be read: the code of the error.
        package let unread: SyncError.Code?
        /// Of a file that was read and cannot be used, because it is damaged or of a newer version:
        /// the code of the error. What it holds may be missing here.
        package let unusable: SyncError.Code?
        /// What makes it readable, or usable.
        package let remedy: String?

        /// Describes what is wrong.
        package init(
            name: String, reason: String, missingKey: KeyID? = nil,
            envelope: BatchEnvelope? = nil, unread: SyncError.Code? = nil,
            unusable: SyncError.Code? = nil, remedy: String? = nil
        ) {
            self.name = name
            self.reason = reason
            self.missingKey = missingKey
            self.envelope = envelope
            self.unread = unread
            self.unusable = unusable
            self.remedy = remedy
        }
    }

    /// In the order of their names.
    package let items: [Item]
    /// What was left out; for messages, not for programs.
    package let problems: [Problem]

    /// Holds these batches.
    package init(_ items: [Item], problems: [Problem] = []) {
        self.items = items.sorted { $0.name < $1.name }
        self.problems = problems
    }

    /// The batches to merge, in order, from `since` on: each starts at what those before it lead
    /// to, and leads further.
    ///
    /// A receiver that has nothing begins with the snapshot that leads furthest; any other takes
    /// the smallest batch that leads further, so that no snapshot is fetched for three new
    /// transactions. The choice affects only the bytes sent: merging is idempotent.
    /// - Complexity: O(e log e) in the entries of the batches' vectors.
    package func path(since: VersionVector) -> [Item] {
        var open = OpenBatches(items, since: since)
        var path: [Item] = []
        if since.isEmpty {
            guard let first = open.take(greatest: { $0.reach }) else { return [] }
            path.append(first)
        }
        while let next = open.takeSmallest() { path.append(next) }
        return path
    }

    /// For a replica that others did not wait for when they collected: of the snapshots made after
    /// that the one that leads furthest. Nil: there is none, or the replica missed no collection.
    package func snapshot(collected: VersionVector) -> Item? {
        guard !collected.isEmpty else { return nil }
        let able = items.filter {
            $0.envelope.hasGaps && $0.envelope.collected.covers(collected)
                && $0.envelope.upTo.covers($0.envelope.collected)
        }
        return able.max { $0.reach < $1.reach }
    }

    /// The snapshots of one of the awaited members that cover a cut: for a replica that does not
    /// believe one member alone. The one that leads furthest.
    package func confirmation(
        of cut: VersionVector, by awaited: Set<ReplicaID>
    ) -> Item? {
        items.filter {
            awaited.contains($0.envelope.sender) && $0.envelope.from.isEmpty
                && $0.envelope.upTo.covers(cut)
        }.max { $0.reach < $1.reach }
    }

    /// What a receiver that has merged `since` has merged after these batches.
    package func reach(since: VersionVector) -> VersionVector {
        path(since: since).reduce(into: since) { $0.join($1.envelope.upTo) }
    }

    /// The same without the batches that the members refuse.
    package func reach(since: VersionVector, for members: Membership) -> VersionVector {
        BatchCatalog(items.filter { members.accepts($0.envelope) }).reach(since: since)
    }
}

extension BatchCatalog.Item {
    /// Whether every receiver that can merge `other` can merge this one, too, and has merged at
    /// least as much after it.
    package func supersedes(_ other: BatchCatalog.Item) -> Bool {
        name != other.name && other.envelope.from.covers(envelope.from)
            && envelope.upTo.covers(other.envelope.upTo)
    }

    /// How far the batch leads, as a number to compare.
    fileprivate var reach: Double {
        envelope.upTo.entries.reduce(0) { $0 + Double($1.number) }
    }
}

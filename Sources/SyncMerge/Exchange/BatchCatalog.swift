import SyncValues

/// The batches of a remote, and the way through them.
package struct BatchCatalog: Sendable {
    /// A batch that can be fetched.
    package struct Item: Sendable, Hashable {
        /// Its name at the remote.
        package let name: String
        /// What is known of it.
        package let envelope: BatchEnvelope

        /// Names a batch.
        package init(name: String, envelope: BatchEnvelope) {
            self.name = name
            self.envelope = envelope
        }
    }

    /// Something at the remote that is not a batch of this store, or not yet a whole one.
    package struct Problem: Sendable, Hashable {
        /// Its name at the remote.
        package let name: String
        /// What is wrong with it.
        package let reason: String
        /// The key that would open it, where that is what is wrong.
        package let missingKey: KeyID?

        /// States what is wrong.
        package init(name: String, reason: String, missingKey: KeyID? = nil) {
            self.name = name
            self.reason = reason
            self.missingKey = missingKey
        }
    }

    /// In the order of their names.
    package let items: [Item]
    /// What was left out; for people, not for programs.
    package let problems: [Problem]

    /// Holds these batches.
    package init(_ items: [Item], problems: [Problem] = []) {
        self.items = items.sorted { $0.name < $1.name }
        self.problems = problems
    }

    /// The batches to merge, in order, from `since` on: each starts at what those before it lead
    /// to, and leads further.
    ///
    /// A receiver that has nothing begins with the snapshot that leads furthest; everybody else
    /// takes the smallest batch that helps, so that nobody fetches a snapshot for three new
    /// transactions. Which way is taken decides nothing but bytes: merging is idempotent.
    /// - Complexity: O(n²) in the batches.
    package func path(since: VersionVector) -> [Item] {
        var vector = since
        var rest = items
        var path: [Item] = []
        while true {
            rest.removeAll { vector.covers($0.envelope.upTo) }
            let open = rest.filter { vector.covers($0.envelope.from) }
            let best =
                vector.isEmpty
                ? open.max { $0.reach < $1.reach }
                : open.min { $0.envelope.payloadBytes < $1.envelope.payloadBytes }
            guard let best else { return path }
            path.append(best)
            vector.join(best.envelope.upTo)
        }
    }

    /// For somebody who was not asked when others collected: the snapshot that leads furthest of
    /// those made after that. Nil: there is none, or nothing is to be made up for.
    package func snapshot(collected: VersionVector) -> Item? {
        guard !collected.isEmpty else { return nil }
        let able = items.filter {
            $0.envelope.hasGaps && $0.envelope.collected.covers(collected)
                && $0.envelope.upTo.covers($0.envelope.collected)
        }
        return able.max { $0.reach < $1.reach }
    }

    /// How far the batches lead somebody who has merged `since`.
    package func reach(since: VersionVector) -> VersionVector {
        path(since: since).reduce(into: since) { $0.join($1.envelope.upTo) }
    }
}

extension BatchCatalog.Item {
    /// Whether whoever can merge `other` can merge this one too, and comes as far.
    package func makesNeedless(_ other: BatchCatalog.Item) -> Bool {
        name != other.name && other.envelope.from.covers(envelope.from)
            && envelope.upTo.covers(other.envelope.upTo)
    }

    /// How far the batch leads, as a number to compare.
    fileprivate var reach: Double {
        envelope.upTo.entries.reduce(0) { $0 + Double($1.number) }
    }
}

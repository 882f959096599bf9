import SyncValues

/// What a replica has merged: for each replica the number of its newest merged transaction.
///
/// A vector is *transitively closed*: a vector that covers a transaction covers everything that its
/// writer had merged before. So "covered" means "seen, or overwritten by something seen", and that
/// is why a batch must be a causal cut (docs/merge-design.md).
///
/// Kept as a sorted array: stores have a handful of replicas, and a scan of a handful of entries is
/// cheaper than hashing a 16-byte key.
package struct VersionVector: Sendable, Hashable {
    /// Sorted by replica; one entry each; numbers above 0.
    package private(set) var entries: [Dot] = []

    /// Covers nothing.
    package init() {}

    /// Covers each of `dots`, and what came before it at its replica.
    package init(_ dots: some Sequence<Dot>) {
        for dot in dots { advance(to: dot) }
    }

    /// The newest covered number of `replica`; 0 when there is none.
    package subscript(replica: ReplicaID) -> Int64 {
        for entry in entries where entry.replica == replica { return entry.number }
        return 0
    }

    /// Whether nothing is covered.
    package var isEmpty: Bool { entries.isEmpty }

    /// Whether the transaction is merged, or older than one of its replica that is.
    package func covers(_ dot: Dot) -> Bool { self[dot.replica] >= dot.number }

    /// Whether everything that `other` covers is covered.
    package func covers(_ other: VersionVector) -> Bool { other.entries.allSatisfy(covers) }

    /// No more transactions than this are covered: numbers ascend from 1.
    package var transactionsMax: Int64 {
        entries.reduce(0) { sum, entry in
            let (sum, isBeyond) = sum.addingReportingOverflow(entry.number)
            return isBeyond ? .max : sum
        }
    }

    /// Covers `dot` from now on; never covers less.
    package mutating func advance(to dot: Dot) {
        guard dot.number > 0 else { return }
        let place = entries.firstIndex { $0.replica >= dot.replica } ?? entries.endIndex
        if place < entries.endIndex, entries[place].replica == dot.replica {
            if entries[place].number < dot.number { entries[place] = dot }
        } else {
            entries.insert(dot, at: place)
        }
    }

    /// Covers what either covers.
    package mutating func join(_ other: VersionVector) {
        for entry in other.entries { advance(to: entry) }
    }

    /// What either covers.
    package func joined(_ other: VersionVector) -> VersionVector {
        var vector = self
        vector.join(other)
        return vector
    }

    /// What both cover.
    package func meet(_ other: VersionVector) -> VersionVector {
        VersionVector(entries.map { Dot($0.replica, min($0.number, other[$0.replica])) })
    }
}

extension VersionVector: CustomStringConvertible {
    /// The entries, in the order of the replicas.
    package var description: String {
        "[" + entries.map(\.description).joined(separator: " ") + "]"
    }
}

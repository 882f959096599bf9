/// What one replica sends to another: all transactions since a vector, and those of their facts
/// that are still maximal.
///
/// Overwritten values are not sent: a vector is transitively closed, so a replica that covers the
/// overwriting transaction covers what it overwrote.
package struct Delta: Sendable, Hashable {
    /// What the receiver must have merged.
    package let since: VersionVector
    /// In an order in which each follows what its writer had seen.
    package let headers: [TransactionHeader]
    /// In no order of meaning.
    package let facts: [Fact]

    /// Makes a delta.
    package init(since: VersionVector, headers: [TransactionHeader], facts: [Fact]) {
        self.since = since
        self.headers = headers
        self.facts = facts
    }

    /// What a receiver has merged after it.
    package var upTo: VersionVector {
        var vector = since
        for header in headers { vector.advance(to: header.dot) }
        return vector
    }

    /// The delta with more facts of its transactions.
    package func adding(_ more: [Fact]) -> Delta {
        more.isEmpty ? self : Delta(since: since, headers: headers, facts: facts + more)
    }

    /// Whether there is nothing to send.
    package var isEmpty: Bool { headers.isEmpty && facts.isEmpty }
}

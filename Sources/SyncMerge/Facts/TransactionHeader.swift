/// What must be known of a transaction to compare its facts with others.
package struct TransactionHeader: Sendable, Hashable {
    /// Its name.
    package let dot: Dot
    /// Its time by its writer's hybrid clock.
    package let time: HybridTime
    /// What its writer had merged before it; does not cover the transaction itself.
    package let seen: VersionVector

    /// Makes a header.
    package init(_ dot: Dot, time: HybridTime, seen: VersionVector) {
        self.dot = dot
        self.time = time
        self.seen = seen
    }
}

import SyncValues

/// One version of one cell of an object.
package struct Version: Sendable, Hashable {
    /// The transaction that wrote it.
    package let dot: Dot
    /// The life of the object that it belongs to.
    package let incarnation: Int
    /// One field per column of the cell.
    package let value: [Field]

    /// Makes a version.
    package init(_ dot: Dot, incarnation: Int, value: [Field]) {
        self.dot = dot
        self.incarnation = incarnation
        self.value = value
    }
}

extension Version {
    /// A default that is of no transaction. Each transaction has seen it: the first number of a
    /// replica is 1. So it loses to every fact of the same life, and is never sent.
    /// - Parameter replica: any that is known where the version is stored.
    package init(unwritten value: [Field], incarnation: Int, near replica: ReplicaID) {
        self.init(Dot(replica, 0), incarnation: incarnation, value: value)
    }

    /// Whether it is such a default.
    package var isUnwritten: Bool { dot.number == 0 }
}

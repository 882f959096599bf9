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

    /// A version that the transaction of a life fact states with it.
    package init(of life: Life, value: [Field]) {
        self.init(life.dot, incarnation: life.incarnation, value: value)
    }
}

// MARK: Versions of a part

/// Which columns are one cell follows from the constraints of a replica, and these differ while one
/// has an index that another one does not have yet. A version of some of the columns of a cell is
/// kept as it is: it overwrites what its writer had seen of these columns, and nothing else. So
/// what is merged does not depend on the constraints, and what is sent can be shown by each
/// replica.
extension Version {
    /// Whether it states some of the columns of its cell, and not the others.
    package var isPartial: Bool { value.contains(.unstated) }

    /// The same without the columns that others state; nil: nothing remains.
    /// - Complexity: O(columns of the cell)
    func leavingOut(_ others: some Sequence<Version>) -> Version? {
        var rest = value
        for other in others {
            for place in rest.indices where other.value[place] != .unstated {
                rest[place] = .unstated
            }
        }
        if rest.allSatisfy({ $0 == .unstated }) { return nil }
        return Version(dot, incarnation: incarnation, value: rest)
    }

    /// The fields at some places alone, as a version of a cell of these columns.
    package func fields(at places: [Int]) -> Version {
        Version(dot, incarnation: incarnation, value: places.map { value[$0] })
    }

    /// The places of the columns that it states.
    package var stated: [Int] { value.indices.filter { value[$0] != .unstated } }

    /// What two versions of one transaction state together.
    package func joined(_ other: Version) -> Version {
        Version(
            dot, incarnation: incarnation,
            value: zip(value, other.value).map { $0 == .unstated ? $1 : $0 })
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

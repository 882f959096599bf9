/// One statement about whether an object exists.
package struct Life: Sendable, Hashable {
    /// The transaction that stated it.
    package let dot: Dot
    /// What it states.
    package let kind: LifeKind
    /// Which life of the object: 1 for the first insert, one more for each insert after a delete.
    package let incarnation: Int

    /// The last number of a life.
    package static let incarnationMax = Int(Int32.max)

    /// Makes a life fact.
    package init(_ dot: Dot, kind: LifeKind, incarnation: Int) {
        self.dot = dot
        self.kind = kind
        self.incarnation = incarnation
    }
}

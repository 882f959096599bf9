/// Names one version of one cell: the key of the conflict log.
package struct VersionID: Sendable, Hashable, Comparable {
    /// The object.
    package let object: ObjectUID
    /// The cell's position in its entity; ``life`` for a life fact.
    package let cell: Int
    /// The transaction that stated it.
    package let dot: Dot

    /// Replaces the cell's position where the fact is about the object's life.
    package static let life = -1

    /// Makes a name.
    package init(_ object: ObjectUID, cell: Int, dot: Dot) {
        self.object = object
        self.cell = cell
        self.dot = dot
    }

    package static func < (left: VersionID, right: VersionID) -> Bool {
        (left.object, left.cell, left.dot) < (right.object, right.cell, right.dot)
    }
}

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

/// Every fact about one identity that was stated and not overwritten.
///
/// Invariants: no fact of `life`, and no two versions of one cell, where one had seen the other;
/// one version per cell and dot.
package struct ObjectRecord: Sendable, Hashable {
    /// Position of the entity in the schema.
    package let entity: Int
    /// Maximal life facts, of any incarnation.
    package var life: [Life] = []
    /// Maximal versions, by cell.
    package var cells: [[Version]]

    /// A record without facts.
    package init(entity: Int, cellCount: Int) {
        self.entity = entity
        cells = Array(repeating: [], count: cellCount)
    }

    /// The newest life of the object; 0 when nothing is known about it. Only its facts are shown.
    package var incarnation: Int {
        var newest = 0
        for fact in life { newest = max(newest, fact.incarnation) }
        for versions in cells {
            for version in versions { newest = max(newest, version.incarnation) }
        }
        return newest
    }
}

/// The kind of a row of `syncd_log` (docs/store-format.md §1). `op` is entity * 8 + kind.
package enum LogKind: Int64, Sendable, Hashable, CaseIterable {
    case marker = 0
    case insert = 1
    case update = 2
    case delete = 3
    /// Deleted by REPLACE: no delete trigger saw it.
    case replace = 4
    /// A key update: old key, new key. Between a delete and an insert.
    case renumber = 5
    /// A delete begins: key. What it takes along follows, and then the delete (3) with `m` = 1.
    /// Only of tables that are referred to by `ON DELETE CASCADE`.
    case deleting = 6
    /// The next seven values of the row before it.
    case continued = 7

    /// The value of `op` in a row of an entity; entity 0 for markers.
    package func op(_ entity: Int64) -> Int64 { entity * 8 + rawValue }
}

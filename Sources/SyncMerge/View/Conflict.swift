/// A fact that is current and that the tables do not show.
package struct Conflict: Sendable, Hashable {
    /// Why it is not shown.
    package let reason: ConflictReason
    /// The fields that are not shown; empty for a delete.
    package let value: [Field]
}

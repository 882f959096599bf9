import SyncValues

/// The value of one column of a cell.
///
/// References travel by identity, never by value: a target may have another private number on every
/// replica, and may change its key.
package enum Field: Sendable, Hashable {
    /// A plain value.
    case value(Value)
    /// The `part`-th key column (from 0) of the object.
    case reference(ObjectUID, part: Int)
    /// The version says nothing about this column: ``Version/isPartial``. Never shown, and never
    /// sent.
    case unstated

    /// Whether the column holds SQL NULL.
    package var isNull: Bool { self == .value(.null) }

    /// The object referred to, if it is a reference.
    package var target: ObjectUID? {
        if case .reference(let uid, _) = self { return uid }
        return nil
    }
}

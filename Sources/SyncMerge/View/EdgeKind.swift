/// What the deletion of a target means for a row that refers to it.
enum EdgeKind {
    /// The target cannot be removed while the row lives: it is shown although deleted.
    case hard
    /// The row is removed with its target.
    case weak
    /// The reference is shown as NULL.
    case null
    /// The reference is shown as its default.
    case fallback
}

/// What happens to the objects at the other end when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable, Codable {
    /// They stay, and their reference becomes nil.
    case nullify
    /// They are deleted too.
    case cascade
    /// The deletion is refused while there are any.
    case deny
    /// Nothing: they keep a reference to an object that is gone.
    case noAction
}

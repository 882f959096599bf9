/// The members of relationships as a context last read them, by identity. Confined to the context's
/// gate.
///
/// Invariant: every change that could add or remove a member either updates its entry or removes
/// all entries.
struct MemberCache {
    /// One relationship of one object.
    struct Key: Hashable {
        let owner: ManagedObjectID
        let relation: String
    }

    private var members: [Key: [ManagedObjectID]] = [:]

    /// The cached members; nil when the relationship has to be read. Setting replaces them.
    subscript(key: Key) -> [ManagedObjectID]? {
        get { members[key] }
        set { members[key] = newValue }
    }

    /// Adds a member at the end of a list that is cached.
    mutating func add(_ member: ManagedObjectID, to key: Key) {
        if members[key]?.contains(member) == false { members[key]?.append(member) }
    }

    /// Removes a member from a list that is cached.
    mutating func remove(_ member: ManagedObjectID, from key: Key) {
        members[key]?.removeAll { $0 == member }
    }

    mutating func removeAll() { members = [:] }
}

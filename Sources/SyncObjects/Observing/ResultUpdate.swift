/// A change of the results.
public struct ResultUpdate<Object: ManagedObject>: Sendable {
    /// One object that moved.
    public struct Move: Sendable, Hashable {
        /// The object.
        public let id: ManagedObjectID
        /// Its place before.
        public let from: Int
        /// Its place now.
        public let to: Int
    }

    /// The results now.
    public let snapshot: ResultSnapshot<Object>
    /// The first one: show it without animation.
    public let isInitial: Bool
    /// New ones, with their places in the new array, in order.
    public let inserted: [(id: ManagedObjectID, place: Int)]
    /// Those that are no longer there, with their places in the old array, in order.
    public let removed: [(id: ManagedObjectID, place: Int)]
    /// Those that changed places among the others.
    public let moved: [Move]
    /// Those that changed, and stayed where they were.
    public let reconfigured: [ManagedObjectID]

    /// The sequence of identities changed.
    public var changesIDs: Bool { !inserted.isEmpty || !removed.isEmpty || !moved.isEmpty }
}

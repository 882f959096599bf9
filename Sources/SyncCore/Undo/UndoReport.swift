import SyncValues

/// What undoing did, object by object, and what it could not do.
public struct UndoReport: Sendable, Hashable {
    /// One object that was brought back to what it was.
    public struct Step: Sendable, Hashable {
        /// What was done: `insert` brought a deleted object back, `delete` removed an inserted one.
        public let kind: Change.Kind
        /// The object.
        public let object: ObjectID
        /// Updates: the properties that have their old values again.
        public let properties: [String]
    }

    /// One object that is not changed, or some of its properties.
    public struct Refusal: Sendable, Hashable {
        /// The object.
        public let object: ObjectID
        /// The properties concerned; empty: the whole object.
        public let properties: [String]
        /// Why, in one sentence without a full stop.
        public let reason: String
        /// The later transaction that depends on the undone one, where that is the reason.
        public let blockedBy: Int64?
    }

    /// What was done, in order.
    public package(set) var steps: [Step] = []
    /// What was not done.
    public package(set) var refusals: [Refusal] = []
    /// The transaction that did it; nil when nothing was done.
    public package(set) var token: Token?

    /// Everything that was asked for was done.
    public var isComplete: Bool { !steps.isEmpty && refusals.isEmpty }
}

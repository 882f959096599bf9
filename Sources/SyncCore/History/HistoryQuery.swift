import SyncValues

/// Which part of a history is asked for. Everything that is given must hold.
///
/// `entities`, `object`, `kinds` and `properties` choose changes: transactions keep only the
/// matching ones, and those without any are left out.
public struct HistoryQuery: Sendable, Hashable {
    /// Only transactions strictly after this position.
    public var after: Token?
    /// Only transactions up to this position, its own included.
    public var upTo: Token?
    /// Only transactions at or after this moment, by wall clock.
    public var since: Timestamp?
    /// Only transactions strictly before this moment, by wall clock.
    public var until: Timestamp?
    /// Only transactions of one of these authors; not those whose author is uncertain.
    public var authors: [String] = []
    /// No transaction of one of these authors. Transactions without an author, or with an uncertain
    /// one, stay.
    public var excludedAuthors: [String] = []
    /// Only transactions of this context.
    public var context: String?
    /// Only changes of these entities: under the names that they had when a change was made, or
    /// have now.
    public var entities: [String] = []
    /// Only changes of this object, in all its incarnations.
    public var object: ObjectName?
    /// Only changes of these kinds.
    public var kinds: Set<Change.Kind> = []
    /// Only updates that changed one of these properties; inserts and deletes stay.
    public var properties: [String] = []
    /// The greatest number of transactions; nil: all.
    public var limit: Int?
    /// Newest first.
    public var reverse = false

    /// The names that the tables which have names of the query now had earlier, by name; folded.
    var formerNames: [String: Set<String>] = [:]

    /// Only changes of these objects, whose names are folded; read at once, so that a large
    /// transaction is not read for each of them.
    var objects: Set<ObjectName>?

    /// The whole history, oldest first.
    public init() {}

    var choosesChanges: Bool {
        !entities.isEmpty || object != nil || objects != nil || !kinds.isEmpty
            || !properties.isEmpty
    }
}

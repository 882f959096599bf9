import SyncStorage
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
    /// Only transactions of one of these authors.
    public var authors: [String] = []
    /// No transaction of one of these authors. Transactions without an author stay.
    public var excludedAuthors: [String] = []
    /// Only transactions of this context.
    public var context: String?
    /// Only changes of these entities.
    public var entities: [String] = []
    /// Only changes of this object, in all its incarnations.
    public var object: ObjectName?
    /// Only changes of these kinds.
    public var kinds: Set<Change.Kind> = []
    /// Only updates that changed one of these properties; inserts and deletes stay.
    public var properties: [String] = []
    /// At most so many transactions; nil: all.
    public var limit: Int?
    /// Newest first.
    public var reverse = false

    /// An entity and a key: an object in all its incarnations.
    public struct ObjectName: Sendable, Hashable {
        /// The entity's name.
        public let entity: String
        /// The primary key's values.
        public let key: ObjectKey

        /// Makes a name.
        public init(entity: String, key: ObjectKey) {
            self.entity = entity
            self.key = key
        }

        /// Reads `Album/348`.
        ///
        /// - Throws: ``SyncError`` with code `invalidArgument`.
        public init(path: String) throws {
            guard let (entity, key) = ObjectID.parse(path: path) else {
                throw SyncError(
                    .invalidArgument, "'\(path)' does not name an object",
                    hint: "Write ENTITY/KEY, as in Album/348")
            }
            self.init(entity: entity, key: key)
        }
    }

    /// The whole history, oldest first.
    public init() {}

    var choosesChanges: Bool {
        !entities.isEmpty || object != nil || !kinds.isEmpty || !properties.isEmpty
    }
}

/// An error of a store: a code for programs, and a message for people.
///
/// Two errors are equal when their codes are. Programs never parse the text: they
/// use `code`, ``isTransient`` and ``needsResync``.
public struct SyncError: Error, Sendable {
    /// The reason, as a program sees it. An open set: new codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable name, as in JSON and in varlink errors.
        public let name: String

        package init(_ name: String) { self.name = name }

        /// The ``name``.
        public var description: String { name }
    }

    /// The reason, as a program sees it.
    public var code: Code
    /// What happened, in one sentence without a full stop.
    public var reason: String
    /// What was being done, for example `track`.
    public var operation: String?
    /// The file it happened to.
    public var path: String?
    /// What to do next; names the command that helps where there is one.
    public var hint: String?
    /// The error below this one.
    public var underlying: (any Error)?

    /// Makes an error.
    public init(
        _ code: Code, _ reason: String, operation: String? = nil, path: String? = nil,
        hint: String? = nil, underlying: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason
        self.operation = operation
        self.path = path
        self.hint = hint
        self.underlying = underlying
    }

    /// The same call may succeed later without any other change.
    public var isTransient: Bool { code == .busy || code == .unreachable || code == .diskFull }

    /// The caller's position in history is no longer valid: read the present objects, then continue
    /// from the token that comes with them.
    public var needsResync: Bool { code == .historyExpired || code == .foreignHistory }
}

extension SyncError.Code {
    /// There is no file at the path.
    public static let noSuchFile = Self("noSuchFile")
    /// The file is not an SQLite database, or an encrypted one.
    public static let notADatabase = Self("notADatabase")
    /// SQLite found the file damaged.
    public static let corrupt = Self("corrupt")
    /// The file, its folder or its journal files cannot be written by this process.
    public static let readOnly = Self("readOnly")
    /// The caller may not do this.
    public static let notAllowed = Self("notAllowed")
    /// Another connection holds the lock.
    public static let busy = Self("busy")
    /// No space left on the device.
    public static let diskFull = Self("diskFull")
    /// The device or its file system failed to read or write.
    public static let ioError = Self("ioError")
    /// The database has no history: it was never tracked.
    public static let notTracked = Self("notTracked")
    /// Tables of syncd are missing: another program dropped them.
    public static let storeDamaged = Self("storeDamaged")
    /// A newer version of syncd wrote this store.
    public static let newerFormat = Self("newerFormat")
    /// The database cannot be tracked.
    public static let cannotTrack = Self("cannotTrack")
    /// The daemon does not know this store.
    public static let unknownStore = Self("unknownStore")
    /// The store has no such entity.
    public static let unknownEntity = Self("unknownEntity")
    /// The store has no such object.
    public static let unknownObject = Self("unknownObject")
    /// No consumer of that name is registered.
    public static let unknownConsumer = Self("unknownConsumer")
    /// Text that is not a token.
    public static let invalidToken = Self("invalidToken")
    /// Transactions after the token were purged.
    public static let historyExpired = Self("historyExpired")
    /// The token is of another store, or of this one before it was restored or replaced.
    public static let foreignHistory = Self("foreignHistory")
    /// Live consumers have not read what was to be purged.
    public static let stillNeeded = Self("stillNeeded")
    /// An argument that makes no sense.
    public static let invalidArgument = Self("invalidArgument")
    /// The file at the store's path was replaced.
    public static let storeReplaced = Self("storeReplaced")
    /// The store's file was removed.
    public static let storeRemoved = Self("storeRemoved")
    /// The daemon or a remote does not answer.
    public static let unreachable = Self("unreachable")
    /// Bytes that cannot be decoded.
    public static let badData = Self("badData")
    /// Transactions of a replica with a known key that it did not sign.
    public static let notSigned = Self("notSigned")
    /// A replica has signed two histories.
    public static let forked = Self("forked")
    /// Another one writes in the name of this replica.
    public static let impostor = Self("impostor")
    /// A batch was sent by a replica that was removed from the members.
    public static let notMember = Self("notMember")
    /// A statement that SQLite refused for a reason of the data or the schema.
    public static let refused = Self("refused")
    /// Two replicas have merged the same transactions and differ.
    public static let diverged = Self("diverged")
    /// A fault of syncd.
    public static let internalFault = Self("internalFault")
}

extension SyncError: Equatable {
    /// Whether the codes are equal.
    public static func == (left: SyncError, right: SyncError) -> Bool { left.code == right.code }
}

extension SyncError: CustomStringConvertible {
    /// `track /x/y.db: the file is not a database. Next: …`
    public var description: String {
        var text = ""
        if let operation { text += operation }
        if let path { text += text.isEmpty ? path : " " + path }
        if !text.isEmpty { text += ": " }
        text += reason
        if let underlying = underlying as? SyncError, underlying.reason != reason {
            text += " (" + underlying.reason + ")"
        }
        if let hint { text += ". " + hint }
        return text
    }
}

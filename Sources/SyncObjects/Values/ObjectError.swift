import SyncCore

/// An error of the object layer: a code for programs, and a text for people.
///
/// Two errors are equal when their codes are. The reasons of a refused save are in ``details``, one
/// error for each.
public struct ObjectError: Error, Sendable {
    /// The reason, for programs. An open set: new codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The stable name.
        public let name: String
        /// Core Data's number for the same thing; 0 where it has none.
        public let number: Int

        init(_ name: String, number: Int = 0) {
            self.name = name
            self.number = number
        }

        /// The text for people.
        public var description: String { name }
    }

    /// The reason, for programs.
    public var code: Code
    /// What happened, in one sentence without a full stop.
    public var reason: String
    /// What to do next, as a sentence.
    public var hint: String?
    /// The file it happened to.
    public var path: String?
    /// The entity it happened to.
    public var entity: String?
    /// The property it happened to.
    public var property: String?
    /// The object it happened to.
    public var object: ManagedObjectID?
    /// The reasons, when there is more than one.
    public var details: [ObjectError]
    /// The error below this one.
    public var underlying: (any Error)?

    /// Makes an error.
    public init(
        _ code: Code, _ reason: String, hint: String? = nil, path: String? = nil,
        entity: String? = nil, property: String? = nil, object: ManagedObjectID? = nil,
        details: [ObjectError] = [], underlying: (any Error)? = nil
    ) {
        self.code = code
        self.reason = reason
        self.hint = hint
        self.path = path
        self.entity = entity
        self.property = property
        self.object = object
        self.details = details
        self.underlying = underlying
    }
}

extension ObjectError: Equatable {
    /// Equal when store, entity, key and incarnation are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension ObjectError: CustomStringConvertible {
    /// The reason, where it happened, and what to do next.
    public var description: String {
        var text = path.map { $0 + ": " } ?? ""
        if let entity { text += property.map { "\(entity).\($0): " } ?? "\(entity): " }
        text += reason
        if let underlying { text += " (\(underlying))" }
        for detail in details { text += "\n  " + detail.description }
        if let hint { text += ". " + hint }
        return text
    }
}

extension ObjectError.Code {
    /// The model contradicts itself.
    public static let invalidModel = Self("invalidModel", number: 134_020)
    /// The store was written under another model and may not, or cannot, be migrated.
    public static let incompatibleModel = Self("incompatibleModel", number: 134_100)
    /// No mapping can be inferred between the two models.
    public static let cannotMigrate = Self("cannotMigrate", number: 134_190)
    /// The model has no such entity.
    public static let unknownEntity = Self("unknownEntity")
    /// The entity has no such property.
    public static let unknownProperty = Self("unknownProperty")
    /// A value of another type than the attribute's.
    public static let typeMismatch = Self("typeMismatch")
    /// The entity's class is another one than asked for.
    public static let classMismatch = Self("classMismatch")
    /// A predicate that cannot be read; the reason says where.
    public static let invalidPredicate = Self("invalidPredicate")
    /// A predicate that is right, but that this layer cannot express.
    public static let unsupportedPredicate = Self("unsupportedPredicate")
    /// An invalid fetch request.
    public static let invalidRequest = Self("invalidRequest", number: 134_091)
    /// The store could not be opened.
    public static let cannotOpen = Self("cannotOpen", number: 134_080)
    /// A file of a bundle is missing.
    public static let missingFile = Self("missingFile", number: 260)
    /// The store may not be written.
    public static let readOnly = Self("readOnly", number: 513)
    /// Several rules are broken: see `details`.
    public static let multipleErrors = Self("multipleErrors", number: 1560)
    /// A value breaks a rule of its attribute.
    public static let validation = Self("validation", number: 1550)
    /// A mandatory property has no value.
    public static let missingMandatory = Self("missingMandatory", number: 1570)
    /// A relationship has fewer members than it must have.
    public static let tooFew = Self("tooFew", number: 1580)
    /// A relationship has more members than it may have.
    public static let tooMany = Self("tooMany", number: 1590)
    /// The delete rule `deny` prevents a deletion.
    public static let deleteDenied = Self("deleteDenied", number: 1600)
    /// A number above its maximum.
    public static let numberTooLarge = Self("numberTooLarge", number: 1610)
    /// A number below its minimum.
    public static let numberTooSmall = Self("numberTooSmall", number: 1620)
    /// A date after its maximum.
    public static let dateTooLate = Self("dateTooLate", number: 1630)
    /// A date before its minimum.
    public static let dateTooSoon = Self("dateTooSoon", number: 1640)
    /// A text longer than its maximum.
    public static let stringTooLong = Self("stringTooLong", number: 1660)
    /// A text shorter than its minimum.
    public static let stringTooShort = Self("stringTooShort", number: 1670)
    /// A text that does not match its pattern.
    public static let patternMismatch = Self("patternMismatch", number: 1680)
    /// Others changed an object that is to be saved.
    public static let mergeConflict = Self("mergeConflict", number: 133_020)
    /// Others deleted an object that is to be saved.
    public static let deletedElsewhere = Self("deletedElsewhere", number: 133_020)
    /// Others changed an object that is to be deleted.
    public static let deleteOfChangedObject = Self("deleteOfChangedObject", number: 133_020)
    /// The save violates a constraint of the schema.
    public static let constraintConflict = Self("constraintConflict", number: 133_021)
    /// No object with that identity.
    public static let noSuchObject = Self("noSuchObject", number: 133_000)
    /// The object is gone; its state says why.
    public static let gone = Self("gone", number: 133_000)
    /// The value was made from another incarnation of the object.
    public static let staleIncarnation = Self("staleIncarnation", number: 133_020)
    /// The object belongs to another context or store.
    public static let wrongContext = Self("wrongContext")
    /// The context was reset or its container closed.
    public static let contextReset = Self("contextReset")
    /// There is nothing to undo, or an object of the step is gone.
    public static let cannotUndo = Self("cannotUndo")
    /// A pinned context cannot write: its view of the store is old.
    public static let snapshotTooOld = Self("snapshotTooOld", number: 134_050)
    /// The store could not be read or written.
    public static let storeFailure = Self("storeFailure", number: 134_030)
}

extension ObjectError.Code {
    /// The file at the store's path is another one now.
    public static let storeReplaced = Self("storeReplaced", number: 134_080)
    /// The store's file is gone.
    public static let storeRemoved = Self("storeRemoved", number: 134_080)
}

/// A condition on objects: a tree of comparisons, made from text, from `#Predicate`, or by hand.
///
/// ```swift
/// let mine = try FetchPredicate("completed == NO AND group.title BEGINSWITH[c] %@", "home")
/// let open = try FetchPredicate(#Predicate<Task> { $0.completed == false })
/// ```
///
/// It means the same in SQL and in memory. Two-valued: a comparison with nil is true for `==` and
/// `!=` as in Swift (`nil != "x"`), and false for everything else. Text compares by its UTF-8 bytes
/// unless `[c]` or `[d]` says otherwise.
public indirect enum FetchPredicate: Sendable, Hashable {
    /// Always true, or never.
    case constant(Bool)
    /// All of them hold.
    case and([FetchPredicate])
    /// One of them holds.
    case or([FetchPredicate])
    /// It does not hold.
    case not(FetchPredicate)
    /// One comparison.
    case comparison(Comparison)
    /// An object that the relationship at `path` leads to satisfies the inner predicate.
    case exists(path: [String], FetchPredicate)

    /// How two values are compared.
    public enum Operator: String, Sendable, Hashable {
        /// `==`
        case equal = "=="
        /// `!=`
        case notEqual = "!="
        /// `<`
        case less = "<"
        /// `<=`
        case lessOrEqual = "<="
        /// `>`
        case greater = ">"
        /// `>=`
        case greaterOrEqual = ">="
        /// The right is part of the left text.
        case contains = "CONTAINS"
        /// The left text begins with the right.
        case beginsWith = "BEGINSWITH"
        /// The left text ends with the right.
        case endsWith = "ENDSWITH"
        /// `*` matches any text, `?` one character.
        case like = "LIKE"
        /// A regular expression that matches the whole text.
        case matches = "MATCHES"
        /// The left is one of the right.
        case isIn = "IN"
        /// The left is not less than the first of the right and not more than the second.
        case between = "BETWEEN"

        /// Works on text alone.
        var isTextual: Bool {
            switch self {
            case .contains, .beginsWith, .endsWith, .like, .matches: return true
            default: return false
            }
        }
    }

    /// Which objects of a to-many path must satisfy a comparison.
    public enum Quantifier: String, Sendable, Hashable {
        /// One at least.
        case any = "ANY"
        /// Every one; true when there is none.
        case all = "ALL"
        /// Not one.
        case none = "NONE"
    }

    /// What comparisons of text ignore.
    public struct TextOptions: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: Int
        /// Makes a set of its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }
        /// `[c]`
        public static let caseInsensitive = Self(rawValue: 1)
        /// `[d]`
        public static let diacriticInsensitive = Self(rawValue: 2)
    }

    /// One comparison of two expressions.
    public struct Comparison: Sendable, Hashable {
        /// The left side.
        public var left: PredicateTerm
        /// How they are compared.
        public var `operator`: Operator
        /// The right side.
        public var right: PredicateTerm
        /// Which objects of a to-many path on the left must satisfy it.
        public var quantifier: Quantifier?
        /// What comparisons of text ignore.
        public var options: TextOptions

        /// Makes a comparison.
        public init(
            _ left: PredicateTerm, _ operator: Operator, _ right: PredicateTerm,
            quantifier: Quantifier? = nil, options: TextOptions = []
        ) {
            self.left = left
            self.operator = `operator`
            self.right = right
            self.quantifier = quantifier
            self.options = options
        }
    }

    /// Reads a predicate from text. `%@` is replaced by the next argument, `%K` by a key path.
    ///
    /// - Throws: ``ObjectError/Code/invalidPredicate``; the reason says where.
    public init(_ format: String, _ arguments: (any Sendable)?...) throws {
        var parser = try PredicateParser(format, arguments: arguments.map { $0 as Any? })
        self = try parser.parse()
    }

    /// Reads a predicate from text, with values for its `$names`.
    ///
    /// - Throws: ``ObjectError/Code/invalidPredicate``; the reason says where.
    public init(_ format: String, variables: [String: any Sendable]) throws {
        var parser = try PredicateParser(format, variables: variables)
        self = try parser.parse()
    }

    /// Both hold. A chain is one ``and(_:)``, as in text.
    public static func && (left: Self, right: Self) -> Self {
        if case .and(let parts) = left { return .and(parts + [right]) }
        return .and([left, right])
    }

    /// One of them holds. A chain is one ``or(_:)``, as in text.
    public static func || (left: Self, right: Self) -> Self {
        if case .or(let parts) = left { return .or(parts + [right]) }
        return .or([left, right])
    }

    /// It does not hold.
    public static prefix func ! (predicate: Self) -> Self { .not(predicate) }
}

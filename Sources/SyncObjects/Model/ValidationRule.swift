import Foundation

/// The rules that a value must satisfy at save. Rules do not apply to nil; see
/// ``AttributeDescription/isOptional``.
public enum ValidationRule: Sendable, Hashable, Codable {
    /// A number not below this one.
    case minimum(Double)
    /// A number not above this one.
    case maximum(Double)
    /// A date not before this one.
    case notBefore(Date)
    /// A date not after this one.
    case notAfter(Date)
    /// A text of at least this number of characters.
    case minimumLength(Int)
    /// A text of at most this number of characters.
    case maximumLength(Int)
    /// A text that matches a regular expression from its beginning to its end.
    case pattern(String)
    /// A value for which a predicate holds; `SELF` is the value.
    case predicate(String)
}

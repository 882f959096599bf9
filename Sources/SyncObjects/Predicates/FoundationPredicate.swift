import Foundation

extension FetchPredicate {
    /// Converts a predicate of `#Predicate`.
    ///
    /// Supported: properties and paths over to-one relationships (`$0.group?.title`), `==`, `!=`,
    /// `<` and so on, `&&`, `||`, `!`, `??`, `flatMap`, forced unwrapping (which never traps here),
    /// `contains`, `starts(with:)`, `isEmpty`, ranges, negative numbers, `contains(where:)`,
    /// `allSatisfy`, and `filter { }.count`. What is nil in Swift is nil here: of a condition on an
    /// optional, `??` decides as written.
    ///
    /// - Throws: ``ObjectError/Code/unsupportedPredicate`` that names the unsupported part, or the
    ///   key path that reads no stored property.
    public init<Object: KeyPathNaming>(_ predicate: Predicate<Object>) throws {
        var bridge = PredicateBridge(subject: predicate.variable.key)
        self = try bridge.predicate(predicate.expression)
    }
}

extension FetchPredicate {
    /// Deeper nesting is refused, in text and elsewhere: texts may come from files and command
    /// lines, and each level takes stack wherever a predicate is walked.
    static let depthMax = 100

    /// Checks the depth of a predicate that was built by hand.
    /// - Throws: ``ObjectError/Code/invalidPredicate``.
    /// - Complexity: O(predicate)
    func requireDepth(atMost limit: Int = depthMax) throws {
        guard limit > 0 else { throw Self.tooDeep }
        switch self {
        case .constant: return
        case .and(let parts), .or(let parts):
            for part in parts { try part.requireDepth(atMost: limit - 1) }
        case .not(let inner), .exists(_, let inner): try inner.requireDepth(atMost: limit - 1)
        case .comparison(let comparison):
            try comparison.left.requireDepth(atMost: limit - 1)
            try comparison.right.requireDepth(atMost: limit - 1)
        }
    }

    /// The error of a predicate that is nested too deeply.
    static var tooDeep: ObjectError {
        ObjectError(
            .invalidPredicate, "the predicate is nested too deeply",
            hint: "AND, OR and IN take any number of parts: write conditions side by side, or "
                + "fetch in several steps")
    }
}

extension PredicateTerm {
    fileprivate func requireDepth(atMost limit: Int) throws {
        guard limit > 0 else { throw FetchPredicate.tooDeep }
        switch self {
        case .constant, .keyPath: return
        case .count(_, let inner): try inner.requireDepth(atMost: limit - 1)
        case .coalesce(let first, let second):
            try first.requireDepth(atMost: limit - 1)
            try second.requireDepth(atMost: limit - 1)
        case .when(let condition, let term):
            try condition.requireDepth(atMost: limit - 1)
            try term.requireDepth(atMost: limit - 1)
        }
    }
}

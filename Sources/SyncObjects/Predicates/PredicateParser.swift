/// Reads the text of a predicate.
///
/// ```
/// predicate  := conjunction (OR conjunction)*
/// conjunction := unary (AND unary)*
/// unary      := NOT unary | ( predicate ) | TRUEPREDICATE | FALSEPREDICATE | comparison
/// comparison := [ANY|SOME|ALL|NONE] term operator[options] term
/// term       := path | literal | %@ | %K | $name | { term, … }
///             | SUBQUERY(path, $x, predicate).@count
/// ```
struct PredicateParser {
    private var lexer: PredicateLexer
    private var token: PredicateLexer.Token = .end
    private var place = 0
    private var arguments: [Any?]
    private let variables: [String: any Sendable]
    /// The variables of the subqueries around the present place.
    private var subjects: [String] = []
    private var depth = 0

    init(
        _ text: String, arguments: [Any?] = [], variables: [String: any Sendable] = [:]
    ) throws {
        lexer = PredicateLexer(text)
        self.arguments = arguments
        self.variables = variables
        try advance()
    }

    mutating func parse() throws -> FetchPredicate {
        if token == .end { return .constant(true) }
        let predicate = try disjunction()
        guard token == .end else { throw problem("expected AND, OR or the end") }
        guard arguments.isEmpty else {
            throw problem("\(arguments.count) more arguments than places for them")
        }
        return predicate
    }

    private mutating func advance() throws { (token, place) = try lexer.next() }

    private func problem(_ reason: String) -> ObjectError { lexer.problem(reason, at: place) }

    private func isWord(_ words: String...) -> Bool {
        guard case .word(let word) = token else { return false }
        return words.contains(word.uppercased())
    }

    private mutating func accept(_ symbols: String...) throws -> Bool {
        guard case .symbol(let symbol) = token, symbols.contains(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ symbol: String) throws {
        guard try accept(symbol) else { throw problem("expected “\(symbol)”") }
    }

    private mutating func disjunction() throws -> FetchPredicate {
        depth += 1
        defer { depth -= 1 }
        guard depth < FetchPredicate.depthMax else { throw problem("nested too deeply") }
        var parts = [try conjunction()]
        while isWord("OR") || token == .symbol("||") {
            try advance()
            parts.append(try conjunction())
        }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func conjunction() throws -> FetchPredicate {
        var parts = [try unary()]
        while isWord("AND") || token == .symbol("&&") {
            try advance()
            parts.append(try unary())
        }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func unary() throws -> FetchPredicate {
        if isWord("NOT") || token == .symbol("!") {
            depth += 1
            defer { depth -= 1 }
            guard depth < FetchPredicate.depthMax else { throw problem("nested too deeply") }
            try advance()
            return .not(try unary())
        }
        if isWord("TRUEPREDICATE", "FALSEPREDICATE") {
            let value = isWord("TRUEPREDICATE")
            try advance()
            return .constant(value)
        }
        if try accept("(") {
            let inner = try disjunction()
            try expect(")")
            return inner
        }
        return try comparison()
    }

    private mutating func comparison() throws -> FetchPredicate {
        var quantifier: FetchPredicate.Quantifier?
        if case .word(let word) = token {
            switch word.uppercased() {
            case "ANY", "SOME": quantifier = .any
            case "ALL": quantifier = .all
            case "NONE": quantifier = FetchPredicate.Quantifier.none
            default: break
            }
            if quantifier != nil { try advance() }
        }
        let left = try term()
        let isNegated = isWord("NOT")
        if isNegated { try advance() }
        let (name, options) = try comparisonOperator()
        let right = try term()
        if name == .between {
            guard case .constant(.list(let bounds)) = right, bounds.count == 2 else {
                throw problem("BETWEEN takes two bounds: { 1, 10 }")
            }
        }
        let predicate = FetchPredicate.comparison(
            .init(left, name, right, quantifier: quantifier, options: options))
        return isNegated ? .not(predicate) : predicate
    }

    private mutating func comparisonOperator() throws -> (
        FetchPredicate.Operator, FetchPredicate.TextOptions
    ) {
        let name: FetchPredicate.Operator
        switch token {
        case .symbol("="), .symbol("=="): name = .equal
        case .symbol("!="), .symbol("<>"): name = .notEqual
        case .symbol("<"): name = .less
        case .symbol("<="), .symbol("=<"): name = .lessOrEqual
        case .symbol(">"): name = .greater
        case .symbol(">="), .symbol("=>"): name = .greaterOrEqual
        case .word(let word):
            guard let found = FetchPredicate.Operator(rawValue: word.uppercased()) else {
                throw problem("expected an operator, found “\(word)”")
            }
            name = found
        default: throw problem("expected an operator")
        }
        try advance()
        var options: FetchPredicate.TextOptions = []
        if try accept("[") {
            guard case .word(let letters) = token else { throw problem("expected c or d") }
            for letter in letters.lowercased() {
                switch letter {
                case "c": options.insert(.caseInsensitive)
                case "d": options.insert(.diacriticInsensitive)
                default: throw problem("options are c and d, not “\(letter)”")
                }
            }
            try advance()
            try expect("]")
        }
        return (name, options)
    }

    private mutating func term() throws -> PredicateTerm {
        depth += 1
        defer { depth -= 1 }
        guard depth < FetchPredicate.depthMax else { throw problem("nested too deeply") }
        switch token {
        case .string(let text):
            try advance()
            return .constant(.text(text))
        case .number(let text):
            let constant = try numberConstant(text)
            try advance()
            return .constant(constant)
        case .argument:
            let value = try argument()
            let constant = try PredicateConstant(value)
            try advance()
            return .constant(constant)
        case .keyArgument:
            guard let name = try argument() as? String else {
                throw problem("%K takes a text: the key path")
            }
            try advance()
            return .keyPath(name.split(separator: ".").map(String.init))
        case .variable(let name):
            let term = try variable(name)
            try advance()
            return term
        case .symbol("{"):
            try advance()
            return .constant(.list(try list()))
        case .word(let word): return try wordTerm(word)
        case .symbol, .end: throw problem("expected a property or a value")
        }
    }

    private mutating func argument() throws -> Any? {
        guard !arguments.isEmpty else { throw problem("there is no argument for this place") }
        return arguments.removeFirst()
    }

    private func numberConstant(_ text: String) throws -> PredicateConstant {
        if let number = Int64(text) { return .integer(number) }
        if let number = Double(text), number.isFinite { return .real(number) }
        throw problem("“\(text)” is not a number")
    }

    private func variable(_ name: String) throws -> PredicateTerm {
        var path = name.split(separator: ".").map(String.init)
        guard !path.isEmpty else { throw problem("“$” has no name") }
        let head = path.removeFirst()
        if subjects.last == head { return .keyPath(path) }
        if subjects.contains(head) {
            throw problem("a subquery can use its own variable only, not “$\(head)”")
        }
        guard path.isEmpty, let value = variables[head] else {
            throw problem("no value is given for “$\(name)”")
        }
        return .constant(try PredicateConstant(value))
    }

    private mutating func list() throws -> [PredicateConstant] {
        var values: [PredicateConstant] = []
        if try accept("}") { return values }
        repeat {
            guard case .constant(let value) = try term() else {
                throw problem("lists hold values, not properties")
            }
            values.append(value)
        } while try accept(",")
        try expect("}")
        return values
    }

    private mutating func wordTerm(_ word: String) throws -> PredicateTerm {
        switch word.uppercased() {
        case "TRUE", "YES":
            try advance()
            return .constant(.boolean(true))
        case "FALSE", "NO":
            try advance()
            return .constant(.boolean(false))
        case "NIL", "NULL":
            try advance()
            return .constant(.null)
        case "SELF":
            try advance()
            return .keyPath([])
        case "SUBQUERY": return try subquery()
        default:
            var path = word.split(separator: ".", omittingEmptySubsequences: false)
                .map(String.init)
            if path.first?.uppercased() == "SELF" { path.removeFirst() }
            guard path.allSatisfy({ !$0.isEmpty }) else {
                throw problem("a name is missing in “\(word)”")
            }
            try advance()
            return .keyPath(path)
        }
    }

    private mutating func subquery() throws -> PredicateTerm {
        try advance()
        try expect("(")
        guard case .keyPath(let path) = try term() else {
            throw problem("SUBQUERY begins with a relationship")
        }
        try expect(",")
        guard case .variable(let name) = token else { throw problem("expected a $variable") }
        try advance()
        try expect(",")
        subjects.append(name)
        let inner = try disjunction()
        subjects.removeLast()
        try expect(")")
        try expect(".")
        guard case .word("@count") = token else {
            throw problem("expected @count after a subquery")
        }
        try advance()
        return .count(path: path, inner)
    }
}

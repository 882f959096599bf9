extension Interface {
    /// The maximum size of a definition in bytes.
    public static let textBytesMax = 1 << 20

    /// Reads a definition by the varlink grammar, and checks what the grammar does not: that names
    /// are unique and that every named type is defined.
    ///
    /// - Throws: `InterfaceError` with line and column.
    /// - Complexity: O(length of the text).
    public init(parsing text: String) throws(InterfaceError) {
        guard text.utf8.count <= Self.textBytesMax else {
            throw InterfaceError("more than \(Self.textBytesMax) bytes", line: 1, column: 1)
        }
        var parser = InterfaceParser(text)
        self = try parser.interface()
    }
}

/// Recursive descent over the words of an `InterfaceScanner`.
private struct InterfaceParser {
    /// The maximum depth of types within types.
    static let depthMax = 32

    private var scanner: InterfaceScanner
    private var depth = 0
    private var references: [(name: String, position: Int)] = []

    init(_ text: String) {
        scanner = InterfaceScanner(text)
    }

    mutating func interface() throws(InterfaceError) -> Interface {
        guard scanner.word() == "interface" else {
            throw scanner.error("expected `interface` first")
        }
        let documentation = scanner.takeComments()
        let name = try name(of: "interface", isInterface: true, isValid: Names.isInterface)
        var members: [Interface.Member] = []
        var names: Set<String> = []
        while !scanner.atEnd() {
            let position = scanner.position
            let member = try member()
            guard names.insert(member.name).inserted else {
                throw scanner.error("`\(member.name)` is defined twice", at: position)
            }
            members.append(member)
        }
        guard !members.isEmpty else { throw scanner.error("expected a type, method or error") }
        try checkReferences(to: members)
        return Interface(
            name: name, documentation: documentation, members: members,
            trailingComments: scanner.takeComments())
    }

    private func checkReferences(to members: [Interface.Member]) throws(InterfaceError) {
        var types: Set<String> = []
        for case .type(let type) in members { types.insert(type.name) }
        for reference in references where !types.contains(reference.name) {
            throw scanner.error("no type `\(reference.name)` is defined", at: reference.position)
        }
    }

    private mutating func member() throws(InterfaceError) -> Interface.Member {
        let position = scanner.position
        let keyword = scanner.word()
        let documentation = scanner.takeComments()
        switch keyword {
        case "type":
            let name = try name(of: "type", isValid: Names.isMember)
            return .type(
                TypeDefinition(
                    name: name, type: try structureOrEnumeration(), documentation: documentation))
        case "method":
            let name = try name(of: "method", isValid: Names.isMember)
            let input = try structure()
            guard scanner.take("->") else { throw scanner.error("expected `->`") }
            return .method(
                Method(
                    name: name, input: input, output: try structure(),
                    documentation: documentation))
        case "error":
            let name = try name(of: "error", isValid: Names.isMember)
            return .error(
                ErrorDefinition(
                    name: name, parameters: try structure(), documentation: documentation))
        default:
            throw scanner.error("expected `type`, `method` or `error`", at: position)
        }
    }

    private mutating func name(
        of what: String, isInterface: Bool = false, isValid: (String) -> Bool
    ) throws(InterfaceError) -> String {
        _ = scanner.atEnd()
        let position = scanner.position
        let word = scanner.word(isInterface: isInterface)
        guard isValid(word) else {
            throw scanner.error("`\(word)` cannot be the name of a \(what)", at: position)
        }
        return word
    }

    private mutating func type() throws(InterfaceError) -> TypeReference {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthMax else { throw scanner.error("types are nested too deep") }
        if scanner.take("?") {
            let position = scanner.position
            let type = try type()
            if case .optional = type { throw scanner.error("`??` is not allowed", at: position) }
            return .optional(type)
        }
        if scanner.take("[]") { return .array(try type()) }
        if scanner.take("[string]") { return .map(try type()) }
        _ = scanner.atEnd()
        let position = scanner.position
        let word = scanner.word()
        switch word {
        case "": return try structureOrEnumeration()
        case "bool": return .bool
        case "int": return .int
        case "float": return .float
        case "string": return .string
        case "object": return .object
        default:
            guard Names.isMember(word) else {
                throw scanner.error("`\(word)` is not a type", at: position)
            }
            references.append((word, position))
            return .named(word)
        }
    }

    private mutating func structure() throws(InterfaceError) -> [Field] {
        _ = scanner.atEnd()
        let position = scanner.position
        guard case .structure(let fields) = try structureOrEnumeration() else {
            throw scanner.error("expected fields with types", at: position)
        }
        return fields
    }

    /// Both begin with `(` and a name; what follows the first name decides.
    private mutating func structureOrEnumeration() throws(InterfaceError) -> TypeReference {
        guard scanner.take("(") else { throw scanner.error("expected a type or `(`") }
        if scanner.take(")") { return .structure([]) }
        var fields: [Field] = []
        var cases: [EnumerationCase] = []
        var names: Set<String> = []
        repeat {
            _ = scanner.atEnd()
            let position = scanner.position
            let name = try name(of: "field", isValid: Names.isField)
            guard names.insert(name).inserted else {
                throw scanner.error("`\(name)` is repeated", at: position)
            }
            let documentation = scanner.takeComments()
            let hasType = scanner.take(":")
            guard hasType ? cases.isEmpty : fields.isEmpty else {
                throw scanner.error("some names have types and some have none", at: position)
            }
            if hasType {
                fields.append(Field(name: name, type: try type(), documentation: documentation))
            } else {
                cases.append(EnumerationCase(name: name, documentation: documentation))
            }
        } while scanner.take(",")
        guard scanner.take(")") else { throw scanner.error("expected `,` or `)`") }
        return cases.isEmpty ? .structure(fields) : .enumeration(cases)
    }
}

/// The valid names.
private enum Names {
    /// `[A-Z][A-Za-z0-9]*`
    static func isMember(_ name: String) -> Bool {
        guard let first = name.utf8.first, isUpper(first) else { return false }
        return name.utf8.allSatisfy(isAlphanumeric)
    }

    /// `[A-Za-z](_?[A-Za-z0-9])*`
    static func isField(_ name: String) -> Bool {
        guard let first = name.utf8.first, isUpper(first) || isLower(first) else { return false }
        return name.utf8.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.allSatisfy(isAlphanumeric) }
    }

    /// `[A-Za-z]([-]*[A-Za-z0-9])*(\.[A-Za-z0-9]([-]*[A-Za-z0-9])*)+`
    static func isInterface(_ name: String) -> Bool {
        guard let first = name.utf8.first, isUpper(first) || isLower(first) else { return false }
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count >= 2
            && parts.allSatisfy { part in
                guard let first = part.first, let last = part.last else { return false }
                return first != UInt8(ascii: "-") && last != UInt8(ascii: "-")
                    && part.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
            }
    }

    private static func isUpper(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }
    private static func isLower(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isUpper(byte) || isLower(byte) || isDigit(byte)
    }
}

/// A parsed interface definition: types, methods and errors in their order.
///
/// ```swift
/// let interface = try Interface(parsing: """
///     # Answers.
///     interface org.example.ping
///     method Ping(text: string) -> (text: string)
///     """)
/// interface.method("Ping")?.input.count  // 1
/// interface.description                  // the definition again, in canonical layout
/// ```
public struct Interface: Sendable, Hashable {
    /// The name in reverse-domain notation.
    public var name: String
    /// The comment lines before `interface`, without their `#`.
    public var documentation: [String]
    /// What is defined, in order. Names are unique among all of them.
    public var members: [Member]
    /// Comment lines after the last member.
    public var trailingComments: [String]

    /// One definition within an interface.
    public enum Member: Sendable, Hashable {
        case type(TypeDefinition)
        case method(Method)
        case error(ErrorDefinition)

        /// The defined name.
        public var name: String {
            switch self {
            case .type(let type): type.name
            case .method(let method): method.name
            case .error(let error): error.name
            }
        }
    }

    /// Makes an interface of parts, without checks; parsing its text checks it.
    public init(
        name: String, documentation: [String] = [], members: [Member],
        trailingComments: [String] = []
    ) {
        self.name = name
        self.documentation = documentation
        self.members = members
        self.trailingComments = trailingComments
    }

    /// The methods in their order.
    public var methods: [Method] {
        members.compactMap { if case .method(let method) = $0 { method } else { nil } }
    }

    /// The types in their order.
    public var types: [TypeDefinition] {
        members.compactMap { if case .type(let type) = $0 { type } else { nil } }
    }

    /// The errors in their order.
    public var errors: [ErrorDefinition] {
        members.compactMap { if case .error(let error) = $0 { error } else { nil } }
    }

    /// The method of that name, or nil.
    ///
    /// - Complexity: O(members).
    public func method(_ name: String) -> Method? {
        methods.first { $0.name == name }
    }
}

/// One of the values of an enumeration.
public struct EnumerationCase: Sendable, Hashable {
    /// The string on the wire.
    public var name: String
    /// The comment lines before it, without their `#`.
    public var documentation: [String]

    /// Makes a case.
    public init(name: String, documentation: [String] = []) {
        self.name = name
        self.documentation = documentation
    }
}

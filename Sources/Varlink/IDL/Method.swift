/// A method: the parameters of a call and of each reply.
public struct Method: Sendable, Hashable {
    /// The name within its interface.
    public var name: String
    /// The parameters of a call.
    public var input: [Field]
    /// The parameters of a reply.
    public var output: [Field]
    /// The comment lines before it, without their `#`.
    public var documentation: [String]

    /// Makes a method.
    public init(name: String, input: [Field], output: [Field], documentation: [String] = []) {
        self.name = name
        self.input = input
        self.output = output
        self.documentation = documentation
    }
}

/// Why a text is not an interface definition, and where.
public struct InterfaceError: Error, Hashable, CustomStringConvertible {
    /// What is wrong.
    public let reason: String
    /// The line, from 1.
    public let line: Int
    /// The column in characters, from 1.
    public let column: Int

    /// Makes an error at a place.
    public init(_ reason: String, line: Int, column: Int) {
        self.reason = reason
        self.line = line
        self.column = column
    }

    /// `line:column: reason`, as compilers write it.
    public var description: String { "\(line):\(column): \(reason)" }
}

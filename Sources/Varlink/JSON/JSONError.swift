/// Why bytes are not valid JSON.
public struct JSONError: Error, Hashable, CustomStringConvertible {
    /// What is wrong.
    public let reason: String

    /// Where: the number of bytes before the offending one.
    public let offset: Int

    /// Makes an error at `offset` bytes from the start.
    public init(_ reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The reason and the offset.
    public var description: String { "\(reason) at byte \(offset)" }
}

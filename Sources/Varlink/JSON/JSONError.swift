/// Why bytes are not the JSON that was asked for.
public struct JSONError: Error, Hashable, CustomStringConvertible {
    /// What is wrong, in words.
    public let reason: String

    /// Where: the number of bytes before the offending one.
    public let offset: Int

    /// Makes an error at `offset` bytes from the start.
    public init(_ reason: String, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The reason with its place.
    public var description: String { "\(reason) at byte \(offset)" }
}

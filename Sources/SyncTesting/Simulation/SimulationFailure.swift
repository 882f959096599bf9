/// A promise of merging that a schedule broke.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
    /// What was found.
    public let description: String

    /// States what was found.
    public init(_ description: String) { self.description = description }
}

/// Batches that belong together, each made when it is asked for: so that memory does not grow with
/// what is sent.
package protocol BatchSource: Sendable {
    /// How many there are.
    var count: Int { get }

    /// The bytes of one; the same each time.
    /// - Parameter place: its position, in the order in which they are to be merged.
    /// - Throws: `diskFull`, `readOnly` where a temporary file fails; `invalidArgument` for a
    ///   transaction beyond ``BatchLimits``.
    /// - Complexity: O(its facts)
    func batch(at place: Int) throws -> [UInt8]
}

extension BatchSource {
    /// All of them.
    /// - Throws: as ``batch(at:)``.
    /// - Complexity: O(facts), in memory
    package func all() throws -> [[UInt8]] { try (0..<count).map(batch) }
}

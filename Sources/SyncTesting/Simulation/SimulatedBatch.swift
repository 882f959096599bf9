import SyncMerge

/// A batch on its way, with what the last of those that were made with it leads to: batches of
/// version 1 do not state it, and are only guessed to be whole by their size.
struct SimulatedBatch: Sendable {
    let bytes: [UInt8]
    let goal: VersionVector

    /// The batches that one call made.
    /// - Throws: `badData`.
    static func all(_ batches: [[UInt8]]) throws -> [SimulatedBatch] {
        guard let last = batches.last else { return [] }
        let goal = try BatchEnvelope.read(last).envelope.upTo
        return batches.map { SimulatedBatch(bytes: $0, goal: goal) }
    }
}

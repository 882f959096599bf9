import SyncValues

/// Sums over what the sender holds at the end of a batch: a receiver that has merged the same
/// transactions compares them with its own.
package struct BatchSums: Sendable, Hashable {
    /// The length of each.
    package static let byteCount = 16

    /// The sum of the facts.
    package let fact: [UInt8]
    /// The sum of what is shown.
    package let shown: [UInt8]

    /// Sums of stored bytes.
    /// - Parameters: each exactly 16 bytes; nil otherwise.
    package init?(fact: [UInt8], shown: [UInt8]) {
        guard fact.count == Self.byteCount, shown.count == Self.byteCount else { return nil }
        self.fact = fact
        self.shown = shown
    }
}

extension ByteReader {
    /// Reads sums.
    /// - Throws: `badData` when the bytes end too soon.
    mutating func sums() throws -> BatchSums {
        let fact = Array(try raw(BatchSums.byteCount))
        guard let sums = BatchSums(fact: fact, shown: Array(try raw(BatchSums.byteCount))) else {
            throw SyncError(.badData, "a sum has 16 bytes")
        }
        return sums
    }
}

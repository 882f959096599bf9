import SyncStorage

/// Transactions that are not assembled in memory.
extension Digester {
    /// How far the digest of a large transaction is.
    struct LargeDigest {
        let transaction: LargeTransaction
        let attempt = Attempt()
        /// Read, but not written yet.
        var slice: [NetChange] = []
        /// All of it was read.
        var isRead = false
        /// A slice of it was written.
        var isBegun = false
    }

    /// Writes the next slice of the large transaction.
    ///
    /// - Throws: as ``digest(_:trimming:through:while:)``; the next call goes on with what was
    ///   read.
    func writeLarge(after digested: Int64) throws -> Step {
        guard var digest = large else { return .unfinished }
        let header = digest.transaction.header
        // Another process digested it, or found another end for what is before it.
        guard digested < header.number, digested >= header.first - 1 else {
            large = nil
            return .unfinished
        }
        if digest.slice.isEmpty, !digest.isRead {
            let next = try RawTransaction.read(on: connection) {
                try digest.transaction.nextSlice()
            }
            digest.slice = next ?? []
            digest.isRead = next == nil
            large = digest
        }
        guard digest.isRead || !digest.slice.isEmpty else { return .unfinished }
        let isWritten = try commit(after: digested, upTo: header.number) {
            guard try continues(digest.attempt, isBegun: digest.isBegun, after: digested)
            else { return false }
            try writer.write(digest.slice)
            guard digest.isRead else { return true }
            if digest.isBegun { try writer.write(headers: CollectionOfOne(header)) }
            try continuity.setDigested(header.number)
            return true
        }
        guard isWritten, !digest.isRead else {
            large = nil
            return isWritten ? .reached(header.number) : .outdated
        }
        digest.slice = []
        digest.isBegun = true
        large = digest
        return .unfinished
    }
}

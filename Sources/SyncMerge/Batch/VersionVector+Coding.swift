import SyncValues

extension ByteWriter {
    /// Writes a vector: count, then each replica and its number.
    package mutating func append(_ vector: VersionVector) {
        append(varint: UInt64(vector.entries.count))
        for entry in vector.entries {
            append(entry.replica)
            append(varint: UInt64(entry.number))
        }
    }
}

extension ByteReader {
    /// A vector as ``ByteWriter/append(_:)-(VersionVector)`` writes it; no other order is accepted.
    /// - Throws: `badData` for a vector that is truncated, not in order, or beyond the limit.
    package mutating func vector() throws -> VersionVector {
        var vector = VersionVector()
        var last: ReplicaID?
        for _ in 0..<(try count(atMost: BatchLimits.envelopeBytesMax / 17)) {
            let replica = try identifier(ReplicaID.self)
            let number = try varint()
            guard last.map({ $0 < replica }) ?? true, let number = Int64(exactly: number),
                number > 0
            else { throw SyncError(.badData, "a version vector is not in order") }
            vector.advance(to: Dot(replica, number))
            last = replica
        }
        return vector
    }
}

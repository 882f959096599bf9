import SyncValues

extension ByteWriter {
    /// Writes a dot: replica, then number.
    package mutating func append(_ dot: Dot) {
        append(dot.replica)
        append(varint: UInt64(bitPattern: dot.number))
    }
}

extension ByteReader {
    /// Reads a dot.
    /// - Throws: `badData` when the bytes end too soon.
    package mutating func dot() throws -> Dot {
        let replica = try replicaID()
        return Dot(replica, Int64(bitPattern: try varint()))
    }

    /// Reads the identifier of a replica.
    /// - Throws: `badData` when the bytes end too soon.
    package mutating func replicaID() throws -> ReplicaID {
        guard let replica = ReplicaID(bytes: Array(try raw(16))) else {
            throw SyncError(.badData, "a replica's name has not 16 bytes")
        }
        return replica
    }

    /// Reads a count and that many items. Each takes at least a byte, so a count beyond the end
    /// fails there.
    /// - Throws: `badData` when the bytes end too soon, and the errors of `read`.
    package mutating func list<Item>(_ read: (inout ByteReader) throws -> Item) throws -> [Item] {
        var items: [Item] = []
        for _ in 0..<(try varint()) { items.append(try read(&self)) }
        return items
    }
}

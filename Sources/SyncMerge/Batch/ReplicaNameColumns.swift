import SyncValues

/// The end of the content of a signed batch: names that replicas gave themselves.
enum ReplicaNameColumns {
    static func write(_ names: [ReplicaID: SignedName], to content: inout ByteWriter) {
        content.append(varint: UInt64(names.count))
        for (replica, name) in names.sorted(by: { $0.key < $1.key }) {
            content.append(replica)
            content.append(varint: UInt64(bitPattern: name.revision))
            content.append(counted: Array(name.name.text.utf8))
            content.append(raw: name.signature.bytes)
        }
    }

    /// - Returns: the names; those that are none (``ReplicaName``) are left out: what a name may be
    ///   is no reason to refuse a batch.
    /// - Throws: `badData` for replicas that are not in order, or bytes that end too soon.
    static func read(from reader: inout ByteReader) throws -> [ReplicaID: SignedName] {
        var names: [ReplicaID: SignedName] = [:]
        var last: ReplicaID?
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.envelopeBytesMax)) {
            let replica = try reader.identifier(ReplicaID.self)
            guard last.map({ $0 < replica }) ?? true else {
                throw SyncError(.badData, "the names of a batch are not in order")
            }
            last = replica
            let revision = Int64(bitPattern: try reader.varint())
            let bytes = Array(try reader.counted(atMost: BatchLimits.nameBytesMax))
            let signature = try reader.signature()
            guard let text = String(validating: bytes, as: UTF8.self),
                let name = ReplicaName(text)
            else { continue }
            names[replica] = SignedName(name, revision: revision, signature: signature)
        }
        return names
    }
}

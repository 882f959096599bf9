import SyncValues

extension Transaction.Origin {
    /// Reads ``packed``.
    /// - Throws: `badData`.
    package init(packed bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        guard let replica = ReplicaID(bytes: Array(try reader.counted())) else {
            throw SyncError(.badData, "an origin in history has no replica")
        }
        self.init(
            replica: replica, number: try reader.signed(),
            time: Timestamp(milliseconds: try reader.signed()))
    }

    /// The bytes in `syncd_transaction.origin`.
    package var packed: [UInt8] {
        var writer = ByteWriter()
        writer.append(counted: replica.bytes)
        writer.append(signed: number)
        writer.append(signed: time.milliseconds)
        return writer.bytes
    }
}

import SyncValues

/// The section with the schemas that replicas stated with the transactions of the batch.
enum SchemaColumns {
    static func write(_ records: [SchemaRecord], to content: inout ByteWriter) {
        content.append(varint: UInt64(records.count))
        for record in records {
            content.append(record.dot.replica)
            content.append(varint: UInt64(record.dot.number))
            content.append(varint: UInt64(record.revision))
            content.append(signed: record.time)
            content.append(counted: record.content.encoded)
        }
    }

    static func read(from reader: inout ByteReader) throws -> [SchemaRecord] {
        var records: [SchemaRecord] = []
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.entitiesMax)) {
            let replica = try reader.identifier(ReplicaID.self)
            let number = try reader.count(atMost: .max)
            let revision = try reader.count(atMost: Int(SchemaRecord.revisionMax))
            let time = try reader.signed()
            records.append(
                SchemaRecord(
                    Dot(replica, Int64(number)), revision: Int64(revision), time: time,
                    content: try SchemaContent(Array(reader.counted()))))
        }
        return records
    }
}

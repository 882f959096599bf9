import SyncValues

/// Headers of one replica without their changes, as bytes: in a proof, and stored until the
/// transactions arrive.
package enum ProofHeaders {
    /// Writes headers, in the order of their numbers.
    package static func write(
        _ headers: [TransactionHeader], after number: Int64, to writer: inout ByteWriter
    ) {
        writer.append(varint: UInt64(headers.count))
        var (last, time) = (number, UInt64(0))
        var seen: VersionVector?
        for header in headers {
            let replica = header.dot.replica
            let others = VersionVector(header.seen.entries.filter { $0.replica != replica })
            writer.append(varint: UInt64(header.dot.number - last))
            writer.append(signed: Int64(bitPattern: header.time.rawValue &- time))
            writer.append(byte: seen == others ? 0 : 1)
            if seen != others { writer.append(others) }
            (last, time, seen) = (header.dot.number, header.time.rawValue, others)
        }
    }

    /// Reads headers.
    /// - Parameter number: what the first one follows.
    /// - Throws: `badData` for numbers that do not ascend or are out of range, or too many headers.
    package static func read(
        of replica: ReplicaID, after number: Int64, from reader: inout ByteReader
    ) throws -> [TransactionHeader] {
        var headers: [TransactionHeader] = []
        var (last, time) = (number, UInt64(0))
        var seen = VersionVector()
        for _ in 0..<(try reader.countOfRest(atMost: BatchLimits.transactionsMax)) {
            let (next, isBeyond) = last.addingReportingOverflow(try reader.transactionNumber())
            guard !isBeyond, next > last else {
                throw SyncError(.badData, "the headers of a proof do not ascend")
            }
            time &+= UInt64(bitPattern: try reader.signed())
            if try reader.index(below: 2) == 1 { seen = try reader.vector() }
            headers.append(
                TransactionHeader(
                    Dot(replica, next), time: HybridTime(rawValue: time), seen: seen))
            last = next
        }
        return headers
    }
}

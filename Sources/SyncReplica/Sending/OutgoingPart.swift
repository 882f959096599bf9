import SyncMerge
import SyncValues

/// Some of the transactions that are sent, which follow each other in the merge order, with their
/// facts: what batches are put together of.
///
/// Transactions and records are in streams of bytes (``OutgoingParts/content``).
struct OutgoingPart: Sendable {
    var transactionCount = 0
    /// Changes that the transactions list.
    var changeCount = 0
    /// No fewer than the facts that the transactions made by their changes; more where these were
    /// overwritten.
    var weight = 0
    /// Facts that are still stored.
    var factCount = 0
    /// The bytes of the records that have them.
    var recordBytes = 0
    /// Why it cannot be sent: a row is too large.
    var refusal: SyncError?
    /// What is merged after the part.
    var upTo: VersionVector
    /// Facts that are not in records, in the order in which they are added; with the private number
    /// of their object.
    var others: [(fact: Fact, number: Int64?)] = []

    init(after vector: VersionVector) { upTo = vector }
}

// MARK: Transactions

extension OutgoingPart {
    /// Writes transactions of one part: header and details, one after the other.
    struct TransactionWriter {
        private var last: VersionVector?

        /// - Parameter numbers: of the replicas, in `syncd_replica`.
        /// - Complexity: O(replicas, and bytes)
        mutating func append(
            _ header: TransactionHeader, details: [UInt8], numbers: [ReplicaID: Int64],
            to writer: inout ByteWriter
        ) {
            func append(_ dot: Dot) {
                writer.append(signed: numbers[dot.replica] ?? -1)
                writer.append(signed: dot.number)
            }
            append(header.dot)
            writer.append(signed: header.seen[header.dot.replica])
            writer.append(bigEndian: header.time.rawValue)
            // Transactions between two merges have seen the same of all others.
            let others = VersionVector(
                header.seen.entries.filter { $0.replica != header.dot.replica })
            if others == last {
                writer.append(varint: 0)
            } else {
                writer.append(varint: UInt64(others.entries.count) + 1)
                others.entries.forEach(append)
                last = others
            }
            writer.append(counted: details)
        }
    }

    /// Reads what ``TransactionWriter`` wrote of one part.
    /// - Parameter names: of the replicas, by their number in `syncd_replica`.
    /// - Throws: `badData` for other bytes.
    /// - Complexity: O(bytes)
    static func forEachTransaction(
        in bytes: [UInt8], names: [Int64: ReplicaID],
        _ body: (TransactionHeader, _ details: [UInt8]) throws -> Void
    ) throws {
        var reader = ByteReader(bytes)
        func nextDot() throws -> Dot {
            guard let replica = names[try reader.signed()] else {
                throw SyncError(.badData, "a transaction of an unknown replica")
            }
            return Dot(replica, try reader.signed())
        }
        var others = VersionVector()
        while !reader.isAtEnd {
            let dot = try nextDot()
            let previous = try reader.signed()
            let time = try reader.bigEndian()
            let count = try reader.varint()
            if count > 0 {
                others = VersionVector()
                for _ in 1..<count { others.advance(to: try nextDot()) }
            }
            var seen = others
            seen.advance(to: Dot(dot.replica, previous))
            let details = Array(try reader.counted())
            try body(
                TransactionHeader(dot, time: HybridTime(rawValue: time), seen: seen), details)
        }
    }
}

// MARK: Records

extension OutgoingPart {
    /// A stored record, as a part has it.
    struct Record {
        let uid: ObjectUID
        let entity: Int
        /// The private number.
        let number: Int64?
        let bytes: UnsafeRawBufferPointer
    }

    /// Writes what goes before the bytes of a record.
    static func appendHead(of record: Record, to writer: inout ByteWriter) {
        writer.append(bigEndian: record.uid.high)
        writer.append(bigEndian: record.uid.low)
        writer.append(varint: UInt64(record.entity) << 1 | (record.number == nil ? 0 : 1))
        if let number = record.number { writer.append(bigEndian: UInt64(bitPattern: number)) }
        writer.append(varint: UInt64(record.bytes.count))
    }

    /// Calls `body` for each record of a part.
    /// - Throws: `badData` for other bytes.
    /// - Complexity: O(bytes)
    static func forEachRecord(in bytes: [UInt8], _ body: (Record) throws -> Void) throws {
        try bytes.withUnsafeBytes { bytes in
            var cursor = ByteCursor(bytes)
            while cursor.position < bytes.count {
                let uid = ObjectUID(high: cursor.bigEndian(), low: cursor.bigEndian())
                let entity = cursor.varint()
                let number = entity & 1 == 0 ? nil : Int64(bitPattern: cursor.bigEndian())
                let count = Int(truncatingIfNeeded: cursor.varint())
                let start = cursor.position
                cursor.skip(count)
                guard !cursor.isBroken else {
                    throw SyncError(.badData, "the temporary file is damaged")
                }
                try body(
                    Record(
                        uid: uid, entity: Int(entity >> 1), number: number,
                        bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])))
            }
        }
    }
}

import CSQLite
import SyncTesting

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// The blobs of a store's tables: records of objects, blends, pending proofs, vectors, former
/// replicas, values of changes.
enum RecordTarget {
    private final class Names: @unchecked Sendable {  // one input at a time
        let connection: PlainConnection
        let names: ReplicaNames

        init() throws {
            connection = try PlainConnection(":memory:")
            try connection.run(
                """
                CREATE TABLE syncd_replica(id INTEGER PRIMARY KEY, replica BLOB, merged INTEGER);
                CREATE TABLE syncd_header(replica INTEGER);
                INSERT INTO syncd_replica VALUES (1, randomblob(16), 0), (2, randomblob(16), 9)
                """)
            names = try ReplicaNames(connection.handle)
        }
    }

    private static let names = Result { try Names() }

    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let kind = choices.byte() % 6
        let rest = choices.rest
        switch kind {
        case 0:
            let names = try names.get().names
            let widths = [[1], [1, 1], [2, 1], []][Int(choices.byte() % 4)]
            let body = choices.rest
            _ = read(body, widths: widths)
            let record = try refusing("record") {
                try RecordCoding.decode(body, entity: 0, widths: widths, replicas: names)
            }
            if let record {
                // Bytes, not values: a file may have a NaN, which equals nothing.
                let bytes = try RecordCoding.encode(record, replicas: names)
                let again = try RecordCoding.decode(
                    bytes, entity: 0, widths: widths, replicas: names)
                try require(
                    try RecordCoding.encode(again, replicas: names) == bytes,
                    "a record does not read the same")
                try require(read(bytes, widths: widths), "a lane does not read a record")
                _ = record.incarnation
            }
        case 1:
            if let pending = try refusing("pending", { try PendingProof(stored: rest) }) {
                try refusing("headers") { try pending.headers(of: ReplicaID(high: 1, low: 1)) }
            }
        case 2: try refusing("vector") { try VersionVector(stored: rest) }
        case 3:
            var reader = ByteReader(rest)
            try refusing("values") {
                while !reader.isAtEnd { _ = try reader.value(tag: reader.byte()) }
            }
        case 4: blend(choices)
        default: try changes(&choices)
        }
    }

    /// Reads a record as the lanes and the extraction do.
    private static func read(_ bytes: [UInt8], widths: [Int]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var parsed = LaneRecord()
            var outgoing = OutgoingRecord()
            let isRead = parsed.read(bytes, widths: widths)
            return (try? outgoing.read(bytes, widths: widths)) != nil && isRead
        }
    }

    /// Values of a property whose versions become one, as any writer may have written them.
    private static func blend(_ choices: FuzzChoices) {
        var choices = choices
        let values = (0..<3).map { _ in choices.value() }
        for value in values { _ = JSONArray.elements(value) }
    }

    private static func changes(_ choices: inout FuzzChoices) throws {
        let sql = "SELECT ?1, ?2"
        let statement = try Statement(sql, on: try names.get().connection.handle)
        statement.bind(choices.value(), at: 1)
        statement.bind(choices.value(), at: 2)
        guard try statement.step() else { return }
        _ = (statement.integer(0), statement.text(0), statement.blob(1), statement.real(1))
        _ = (statement.integerOrNil(0), statement.value(1))
    }
}

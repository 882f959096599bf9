import SyncTesting

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// A log written by hand, row by row, without triggers: what the digest makes of any log.
final class LogFixture {
    private let database: PlainConnection
    var connection: OpaquePointer { database.handle }
    private(set) var seq: Int64 = 0

    /// Entity 1 `Album(Id, Title, Artist → Artist ON DELETE CASCADE)`, entity 2 `Artist(Id, Name)`
    /// with old values, entity 3 `Pair(A, B, Note)` with a composite key, entity 4
    /// `Track(Id, Name, Album → Album ON DELETE CASCADE)`.
    init() throws {
        database = try PlainConnection(":memory:")
        for sql in [
            "CREATE TABLE syncd_log("
                + "seq INTEGER PRIMARY KEY, op, m, ts REAL, pk, v0, v1, v2, v3, v4, v5)",
            "CREATE TABLE syncd_entity(id INTEGER PRIMARY KEY, name, layout, retired)",
            "CREATE TABLE syncd_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID",
        ] { try RawTransaction.execute(sql, on: connection) }
        try HistorySchema.create(connection)
        for (id, name, layout) in Self.entities {
            try Statement("INSERT INTO syncd_entity VALUES (?1, ?2, ?3, 0)", on: connection)
                .run(.integer(id), .text(name), .text(layout))
        }
    }

    private static let entities: [(Int64, String, String)] = [
        (
            1, "Album",
            """
            {"key": ["Id"], "columns": ["Id", "Title", "Artist"], "kept": [1, 2], "undo": false,
             "cascades": [{"columns": [2], "parent": "artist"}]}
            """
        ),
        (2, "Artist", #"{"key": ["Id"], "columns": ["Id", "Name"], "kept": [1], "undo": true}"#),
        (
            3, "Pair",
            #"{"key": ["A", "B"], "columns": ["A", "B", "N"], "kept": [2], "undo": false}"#
        ),
        (
            4, "Track",
            """
            {"key": ["Id"], "columns": ["Id", "Name", "Album"], "kept": [1, 2], "undo": false,
             "cascades": [{"columns": [2], "parent": "ALBUM"}]}
            """
        ),
    ]

    /// Appends a row and returns its seq.
    @discardableResult
    func log(
        _ entity: Int64, _ kind: LogKind, m: Value = .null, time: Double = 2_461_041.5,
        _ values: Value...
    ) throws -> Int64 {
        seq += 1
        let row: [Value] = [.integer(seq), .integer(kind.op(entity)), m, .real(time)]
        let padding = [Value](repeating: .null, count: 7 - values.count)
        let insert = try Statement(
            "INSERT INTO syncd_log VALUES (?,?,?,?,?,?,?,?,?,?,?)", on: connection)
        insert.bind(row + values + padding)
        try insert.run()
        return seq
    }

    /// The transactions between the boundaries.
    func transactions(_ boundaries: [Boundary]? = nil) throws -> [NetTransaction] {
        let reader = try LogReader(connection, catalog: try EntityCatalog(connection))
        var result: [NetTransaction] = []
        try TransactionAssembler(reader).forEach(
            after: 0, in: boundaries ?? [Boundary(last: seq, isExact: true)]
        ) {
            result.append($0)
            return true
        }
        return result
    }

    /// The net changes of everything taken as one commit: `insert Album/1`.
    func net() throws -> [String] {
        try transactions().flatMap(\.changes).map {
            let cause = $0.cause == .direct ? "" : $0.cause == .replace ? " replace" : " other"
            return "\($0.kind.name) \($0.entity.name)/\($0.key)" + cause
        }
    }
}

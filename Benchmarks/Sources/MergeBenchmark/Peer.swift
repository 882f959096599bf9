import CWriter
import Foundation

/// A database and what a program would do with it by hand: prepared statements, values bound once.
///
/// Confined to one thread.
final class Peer {
    private let database: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]
    private var session: OpaquePointer?

    static let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT, body TEXT, rank INTEGER, price REAL);
        CREATE INDEX item_rank ON item(rank);
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        """

    /// Rows of one transaction.
    private static let transactionRows = 100
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ path: String, isNew: Bool = false) throws {
        var database: OpaquePointer?
        guard sqlite3_open(path, &database) == SQLITE_OK, let database else {
            throw PeerFailure(reason: "cannot open \(path)")
        }
        self.database = database
        sqlite3_busy_timeout(database, 60_000)
        if isNew { try run("PRAGMA journal_mode = WAL") }
        try run("PRAGMA synchronous = NORMAL")
        if isNew { try run(Self.schema) }
    }

    deinit {
        if let session { sqlite3session_delete(session) }
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(database)
    }

    func run(_ sql: String) throws {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
            throw PeerFailure(reason: String(cString: sqlite3_errmsg(database)))
        }
    }

    private func statement(_ sql: String) throws -> OpaquePointer {
        if let known = statements[sql] { return known }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, let statement
        else { throw PeerFailure(reason: String(cString: sqlite3_errmsg(database))) }
        statements[sql] = statement
        return statement
    }

    /// Writes all rows by their key, a hundred in a transaction.
    func upsert(_ rows: [Row]) throws {
        let upsert = try statement(
            """
            INSERT INTO item(id, title, body, rank, price) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT(id) DO UPDATE SET title = excluded.title, body = excluded.body,
              rank = excluded.rank, price = excluded.price
            """)
        try write(rows, with: upsert) { row in
            sqlite3_bind_int64(upsert, 1, row.id)
            sqlite3_bind_text(upsert, 2, row.title, -1, Self.transient)
            sqlite3_bind_text(upsert, 3, row.body, -1, Self.transient)
            sqlite3_bind_int64(upsert, 4, row.id % 1000)
            sqlite3_bind_double(upsert, 5, Double(row.id) / 7)
        }
    }

    /// Writes the titles of all rows, a hundred in a transaction.
    func retitle(_ rows: [Row]) throws {
        let update = try statement("UPDATE item SET title = ?2 WHERE id = ?1")
        try write(rows, with: update) { row in
            sqlite3_bind_int64(update, 1, row.id)
            sqlite3_bind_text(update, 2, row.title, -1, Self.transient)
        }
    }

    private func write(
        _ rows: [Row], with statement: OpaquePointer, _ bind: (Row) -> Void
    ) throws {
        for first in stride(from: 0, to: rows.count, by: Self.transactionRows) {
            try run("BEGIN IMMEDIATE")
            for row in rows[first..<min(first + Self.transactionRows, rows.count)] {
                bind(row)
                guard sqlite3_step(statement) == SQLITE_DONE else {
                    throw PeerFailure(reason: String(cString: sqlite3_errmsg(database)))
                }
                sqlite3_reset(statement)
            }
            try run("COMMIT")
        }
    }

    /// Reads all columns of all rows.
    /// - Returns: something that depends on them.
    func readAll() throws -> Int {
        let select = try statement("SELECT id, title, body, rank, price FROM item")
        defer { sqlite3_reset(select) }
        var total = 0
        while sqlite3_step(select) == SQLITE_ROW {
            total += Int(sqlite3_column_int64(select, 0) + sqlite3_column_int64(select, 3))
            total += Int(sqlite3_column_bytes(select, 1) + sqlite3_column_bytes(select, 2))
            total += Int(sqlite3_column_double(select, 4))
        }
        return total
    }

    /// One small transaction of a person.
    func note(_ text: String) throws {
        try run("BEGIN IMMEDIATE; INSERT INTO note(text) VALUES ('\(text)'); COMMIT")
    }

    // MARK: The session extension

    /// Records what is written from now on.
    func record() throws {
        guard sqlite3session_create(database, "main", &session) == SQLITE_OK,
            sqlite3session_attach(session, nil) == SQLITE_OK
        else { throw PeerFailure(reason: "the session extension is not there") }
    }

    /// What was written since ``record()``; ends it.
    func changeset() throws -> Data {
        defer {
            sqlite3session_delete(session)
            session = nil
        }
        var count: Int32 = 0
        var buffer: UnsafeMutableRawPointer?
        guard sqlite3session_changeset(session, &count, &buffer) == SQLITE_OK, let buffer else {
            throw PeerFailure(reason: "no changeset")
        }
        defer { sqlite3_free(buffer) }
        return Data(bytes: buffer, count: Int(count))
    }

    /// Applies a changeset in one transaction.
    /// - Parameter isWinning: whether it replaces what is here otherwise.
    func apply(_ changeset: Data, isWinning: Bool) throws {
        var changeset = changeset
        let conflict:
            @convention(c) (
                UnsafeMutableRawPointer?, Int32, OpaquePointer?
            ) -> Int32 = { context, kind, _ in
                let isReplaceable =
                    kind == SQLITE_CHANGESET_DATA || kind == SQLITE_CHANGESET_CONFLICT
                return context != nil && isReplaceable
                    ? SQLITE_CHANGESET_REPLACE : SQLITE_CHANGESET_OMIT
            }
        let code = changeset.withUnsafeMutableBytes { bytes in
            sqlite3changeset_apply(
                database, Int32(bytes.count), bytes.baseAddress, nil, conflict,
                isWinning ? UnsafeMutableRawPointer(bitPattern: 1) : nil)
        }
        guard code == SQLITE_OK else { throw PeerFailure(reason: "changeset: \(code)") }
    }
}

/// What goes wrong with a peer.
struct PeerFailure: Error { let reason: String }

/// A row of some 160 bytes.
struct Row: Sendable {
    let id: Int64
    let title: [CChar]
    let body: [CChar]

    private static let words = [
        "river", "paper", "winter", "garden", "signal", "cotton", "market", "window", "copper",
        "letter", "shadow", "engine", "planet", "velvet", "harbor", "candle",
    ]

    /// Rows of common words, the same for the same count and text.
    static func make(_ count: Int, _ text: String) -> [Row] {
        var state: UInt64 = 42
        func word() -> String {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return words[Int(state >> 60)]
        }
        return (1...count).map { id in
            let body = (0..<16).map { _ in word() }.joined(separator: " ")
            return Row(
                id: Int64(id), title: Array("\(text) \(word()) \(id)".utf8CString),
                body: Array(body.utf8CString))
        }
    }
}

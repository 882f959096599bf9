import CSQLite
import SyncStorage
import SyncValues

/// One statement that somebody else wrote, run or only compiled under a ``SchemaJudge``.
struct ConfinedStatement {
    private let sql: String
    private let connection: OpaquePointer

    init(_ sql: String, on connection: OpaquePointer) {
        self.sql = sql
        self.connection = connection
    }

    /// Confines a connection for such statements: defensive, nothing attached, and bounds for what
    /// compiling one may take. SQLITE_DBCONFIG_TRUSTED_SCHEMA stays on: off, it refuses functions
    /// that many schemas have in a CHECK (`json_valid`), and the connection has no functions but
    /// SQLite's.
    /// - Returns: the limits from before.
    /// - Throws: `internalFault`.
    @discardableResult
    static func confine(_ connection: OpaquePointer) throws -> [(Int32, Int32)] {
        guard syncd_sqlite_confine(connection) == SQLITE_OK else {
            throw SyncError(.internalFault, "SQLite does not confine the connection")
        }
        return setLimits(limits, on: connection)
    }

    /// Sets limits.
    /// - Returns: those from before.
    @discardableResult
    static func setLimits(
        _ limits: [(Int32, Int32)], on connection: OpaquePointer
    ) -> [(Int32, Int32)] {
        limits.map { ($0, sqlite3_limit(connection, $0, $1)) }
    }

    /// SQLite's own limits are larger; a schema that people made is far below these.
    private static let limits: [(Int32, Int32)] = [
        (SQLITE_LIMIT_SQL_LENGTH, 1_000_000), (SQLITE_LIMIT_EXPR_DEPTH, 400),
        (SQLITE_LIMIT_COMPOUND_SELECT, 300), (SQLITE_LIMIT_VDBE_OP, 1_000_000),
        (SQLITE_LIMIT_TRIGGER_DEPTH, 30), (SQLITE_LIMIT_WORKER_THREADS, 0),
    ]

    /// Runs the statement.
    /// - Parameter isAllowed: asked after the statement was compiled.
    /// - Throws: `badData`, with the reason, for a text that is not one statement, that the judge
    ///   refuses, or that SQLite does not accept; SQLite errors of the file.
    func run(_ judge: SchemaJudge, isAllowed: () -> Bool = { true }) throws {
        guard let statement = try compiled(judge) else { throw refusal("it is no statement") }
        defer { sqlite3_finalize(statement) }
        guard sqlite3_stmt_isexplain(statement) == 0, isAllowed() else {
            throw refusal("it makes something else")
        }
        // Statements inside a statement are compiled while it runs.
        let end = judge.watch(connection) { () -> Int32 in
            var status = sqlite3_step(statement)
            while status == SQLITE_ROW { status = sqlite3_step(statement) }
            return status
        }
        guard end != SQLITE_DONE else { return }
        let error = SyncError.sqlite(on: connection, status: end)
        guard error.code == .refused || end == SQLITE_AUTH else { throw error }
        throw refusal(judge.objection ?? message)
    }

    /// Compiles the statement, and does not run it.
    /// - Throws: as ``run(_:isAllowed:)``.
    func compile(_ judge: SchemaJudge) throws { sqlite3_finalize(try compiled(judge)) }

    private func compiled(_ judge: SchemaJudge) throws -> OpaquePointer? {
        guard !sql.utf8.contains(0) else { throw refusal("it has a NUL character") }
        var statement: OpaquePointer?
        var hasRest = false
        let status = judge.watch(connection) {
            sql.withCString { text in
                var tail: UnsafePointer<CChar>?
                let status = sqlite3_prepare_v2(connection, text, -1, &statement, &tail)
                hasRest = tail.map { Self.hasStatement($0, on: connection) } ?? false
                return status
            }
        }
        guard status == SQLITE_OK, judge.objection == nil, !hasRest else {
            let reason =
                judge.objection
                ?? (status == SQLITE_OK ? "more than one statement" : message)
            sqlite3_finalize(statement)
            throw refusal(reason)
        }
        return statement
    }

    private var message: String? { sqlite3_errmsg(connection).map { String(cString: $0) } }

    private func refusal(_ reason: String?) -> SyncError {
        SyncError(.badData, (reason ?? "").printable(countMax: 200))
    }

    /// Whether anything but blanks and comments follows a statement.
    private static func hasStatement(
        _ tail: UnsafePointer<CChar>, on connection: OpaquePointer
    ) -> Bool {
        var rest = tail
        while rest.pointee != 0 {
            var statement: OpaquePointer?
            var next: UnsafePointer<CChar>?
            let status = sqlite3_prepare_v2(connection, rest, -1, &statement, &next)
            defer { sqlite3_finalize(statement) }
            guard status == SQLITE_OK, statement == nil, let next, next > rest else { return true }
            rest = next
        }
        return false
    }
}

import CSQLite
import SyncMerge
import SyncStorage
import SyncValues

#if canImport(Glibc)
    import Glibc
#endif

/// Creates an empty database with the schema of a snapshot.
///
/// Everyone with write access to the remote can write a snapshot, so its SQL is not trusted. Each
/// statement has to be one CREATE TABLE or CREATE INDEX of a table that the batch names as an
/// entity; anything else is refused before it runs. What SQLite compiles decides, not the text: an
/// authorizer sees every action of a statement while it is prepared
/// (https://www.sqlite.org/c3ref/set_authorizer.html) and allows only those that such a statement
/// needs. CREATE TABLE AS SELECT, virtual tables, triggers, views, temporary objects, ATTACH,
/// PRAGMA and every statement that reads or writes rows need others. The connection is defensive
/// and can attach nothing. SQLITE_DBCONFIG_TRUSTED_SCHEMA stays on: off, it refuses functions that
/// many schemas have in a CHECK (`json_valid`), and the connection has no functions but SQLite's.
struct ReceivedSchema {
    /// Functions of SQLite that reach beyond the database. The connection has only SQLite's own
    /// functions; the others compute.
    private static let refusedFunctions: Set<String> = [
        "load_extension", "fts3_tokenizer", "readfile", "writefile", "edit",
    ]
    private static let schemaTables: Set<String> = ["sqlite_master", "sqlite_schema"]
    /// What AUTOINCREMENT makes.
    private static let sequence = "sqlite_sequence"
    private static let autoIndexPrefix = "sqlite_autoindex_"
    private static let quotedCountMax = 80

    private let statements: [String]
    /// The tables that may be made, folded.
    private let entities: Set<String>

    init(_ batch: Batch) {
        statements = batch.extras.schema
        entities = Set(Self.tables(of: batch).map(SQLName.folded).filter(Self.isUsable))
    }

    /// The sender's names of the entities that a batch describes.
    static func tables(of batch: Batch) -> [String] {
        batch.entities.compactMap { entity in
            let named = batch.names.first { SQLName.isEqual($0.entity, to: entity.name) }
            return named.map(\.name) ?? entity.name
        }
    }

    private static func isUsable(_ name: String) -> Bool {
        !SQLName.isOwn(name) && !SQLName.folded(name).hasPrefix("sqlite_")
    }

    /// Makes a database file in WAL mode with this schema. The file must not exist.
    /// - Parameter mode: its permissions, as far as the umask leaves them.
    /// - Throws: `badData` for a statement that is refused, or that SQLite does not accept;
    ///   `readOnly` when the file cannot be made. A file that was begun stays.
    func create(at path: String, mode: mode_t = 0o666) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            let error = errno
            throw SyncError(
                error == ENOENT ? .noSuchFile : .readOnly,
                "the file cannot be created: \(String(cString: strerror(error)))", path: path,
                hint: "Check the folder: ls -ld \(PathResolution.directory(of: path))")
        }
        close(descriptor)
        var opened: OpaquePointer?
        let status = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE, nil)
        defer { sqlite3_close_v2(opened) }
        guard status == SQLITE_OK, let connection = opened else {
            throw SyncError.sqlite(on: opened, status: status)
        }
        try RawTransaction.execute("PRAGMA journal_mode = WAL", on: connection)
        guard syncd_sqlite_confine(connection) == SQLITE_OK else {
            throw SyncError(.internalFault, "SQLite does not confine the connection")
        }
        try RawTransaction.write(on: connection) {
            for statement in statements { try run(statement, on: connection) }
        }
    }

    private func run(_ sql: String, on connection: OpaquePointer) throws {
        let judge = Judge(entities)
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
        defer { sqlite3_finalize(statement) }
        guard let statement, status == SQLITE_OK, judge.mayRun, !hasRest, !sql.utf8.contains(0),
            sqlite3_stmt_isexplain(statement) == 0
        else {
            let message =
                status == SQLITE_OK || status == SQLITE_AUTH
                ? nil : sqlite3_errmsg(connection).map { String(cString: $0) }
            throw Self.refusal(of: sql, reason: message)
        }
        // Statements inside a statement are compiled while it runs.
        let end = judge.watch(connection) { sqlite3_step(statement) }
        guard end == SQLITE_DONE else {
            let error = SyncError.sqlite(on: connection, status: end)
            guard error.code == .refused || end == SQLITE_AUTH else { throw error }
            throw Self.refusal(
                of: sql, reason: sqlite3_errmsg(connection).map { String(cString: $0) })
        }
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

    private static func refusal(of sql: String, reason message: String?) -> SyncError {
        let reason = message.map { ": " + $0.printable(countMax: 200) } ?? ""
        return SyncError(
            .badData,
            "the remote's schema has a statement that is not one CREATE TABLE or CREATE INDEX of a "
                + "table of the store\(reason): \(sql.printable(countMax: quotedCountMax))",
            hint: "Nothing was created. Do not trust this remote before its owner explains it")
    }

    /// Judges the actions of one statement. Confined to the call that prepares or runs it.
    private final class Judge {
        private let entities: Set<String>
        private var isCreating = false
        private var isRefused = false

        init(_ entities: Set<String>) { self.entities = entities }

        /// The statement makes a table or an index, and does nothing else.
        var mayRun: Bool { isCreating && !isRefused }

        /// Runs `body` with the connection's authorizer asking this judge.
        func watch(_ connection: OpaquePointer, during body: () -> Int32) -> Int32 {
            sqlite3_set_authorizer(
                connection,
                { context, action, first, second, database, _ in
                    guard let context else { return SQLITE_DENY }
                    let judge = Unmanaged<Judge>.fromOpaque(context).takeUnretainedValue()
                    let text = { (text: UnsafePointer<CChar>?) in
                        text.map { String(cString: $0) } ?? ""
                    }
                    let isAllowed = judge.allows(
                        action, of: (text(first), text(second)), database: text(database))
                    if !isAllowed { judge.isRefused = true }
                    return isAllowed ? SQLITE_OK : SQLITE_DENY
                }, Unmanaged.passUnretained(self).toOpaque())
            defer { sqlite3_set_authorizer(connection, nil, nil) }
            return body()
        }

        private func allows(
            _ action: Int32, of names: (String, String), database: String
        ) -> Bool {
            let (first, second) = (SQLName.folded(names.0), SQLName.folded(names.1))
            switch action {
            case SQLITE_FUNCTION: return !ReceivedSchema.refusedFunctions.contains(second)
            case SQLITE_RECURSIVE: return false
            default: break
            }
            guard database == "main" else { return false }
            switch action {
            case SQLITE_CREATE_TABLE:
                if first == ReceivedSchema.sequence { return isCreating }
                isCreating = true
                return entities.contains(first)
            case SQLITE_CREATE_INDEX:
                let isAutomatic = first.hasPrefix(ReceivedSchema.autoIndexPrefix)
                if !isAutomatic { isCreating = true }
                return entities.contains(second)
                    && (isAutomatic || ReceivedSchema.isUsable(first))
            case SQLITE_READ:
                return ReceivedSchema.schemaTables.contains(first) || entities.contains(first)
            case SQLITE_INSERT, SQLITE_UPDATE: return ReceivedSchema.schemaTables.contains(first)
            case SQLITE_REINDEX: return true
            default: return false
            }
        }
    }
}

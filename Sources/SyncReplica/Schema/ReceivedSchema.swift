import CSQLite
import SyncMerge
import SyncStorage
import SyncValues

#if canImport(Glibc)
    import Glibc
#endif

/// Creates an empty database with the tracked tables of a store.
///
/// Everyone with write access to the remote can write a batch, so its SQL is not trusted. Each
/// statement has to be one CREATE TABLE or CREATE INDEX of a table that the store tracks; anything
/// else is refused before it runs (``SchemaJudge``). CREATE TABLE AS SELECT, virtual tables,
/// triggers, views, temporary objects, ATTACH, PRAGMA and every statement that reads or writes rows
/// need actions that are not allowed.
struct ReceivedSchema {
    /// What AUTOINCREMENT makes.
    private static let sequence = "sqlite_sequence"
    private static let autoIndexPrefix = "sqlite_autoindex_"
    private static let quotedCountMax = 80

    private let statements: [String]
    private let settings: SchemaContent.Settings
    /// Whether what needs a function or a collation of an application is left out.
    private let leavesOut: Bool
    /// The tables that may be made, folded.
    private let entities: Set<String>

    /// The sender's names of the entities that a batch describes.
    static func tables(of batch: Batch) -> [String] {
        batch.entities.compactMap { entity in
            let named = batch.names.first { SQLName.isEqual($0.entity, to: entity.name) }
            return named.map(\.name) ?? entity.name
        }
    }

    /// - Parameters:
    ///   - content: the schema of the store; nil: that of the snapshot.
    ///   - isStated: whether a replica states the schema of the store: then what is left out is
    ///     named (``StoreReplica/completeCopy(at:consent:)``).
    init(_ batch: Batch, content: SchemaContent? = nil, isStated: Bool) {
        leavesOut = isStated
        var names = Set(Self.tables(of: batch).map(SQLName.folded))
        if let content {
            let tables = content.objects.filter(\.isTracked)
            names = Set(tables.map { SQLName.folded($0.name) })
            let indexes = content.objects.filter {
                $0.kind == .index && names.contains(SQLName.folded($0.table))
            }
            statements = (tables + indexes).map(\.sql)
        } else {
            statements = batch.extras.schema
        }
        settings = content?.settings ?? SchemaContent.Settings()
        entities = names.filter(ReceivedNames.isUsable)
    }

    /// Makes a database file in WAL mode with this schema. The file must not exist.
    ///
    /// Of a schema that is stated, tables and indexes that need a function or a collation of an
    /// application are left out: their changes wait.
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
        for pragma in settings.beforeTheFirstTable {
            try RawTransaction.execute("PRAGMA \(pragma)", on: connection)
        }
        try RawTransaction.execute("PRAGMA journal_mode = WAL", on: connection)
        try ConfinedStatement.confine(connection)
        try RawTransaction.write(on: connection) {
            for statement in statements {
                do {
                    try Self.run(statement, tables: entities, on: connection)
                } catch let error as SyncError where error.code == .badData {
                    // What merging cannot write either stays out; the rest of the store comes.
                    if leavesOut, SyncError.isOfApplication(error.reason) { continue }
                    throw Self.refusal(of: statement, reason: error.reason)
                }
            }
        }
    }

    /// Runs one CREATE TABLE or CREATE INDEX.
    /// - Parameter tables: which tables it may make, or be on; folded.
    /// - Throws: as ``ConfinedStatement/run(_:isAllowed:)``.
    static func run(
        _ sql: String, tables: Set<String>, on connection: OpaquePointer
    ) throws {
        var isCreating = false
        try requireHarmlessFunctions(in: sql)
        try requireForeignKeysToUsers(in: sql)
        let judge = SchemaJudge { action in
            let (first, second) = action.names
            switch action.code {
            case SQLITE_FUNCTION: return !ReceivedNames.refusedFunctions.contains(second)
            case SQLITE_RECURSIVE: return false
            default: break
            }
            guard action.database == "main" else { return false }
            switch action.code {
            case SQLITE_CREATE_TABLE:
                if first == sequence { return isCreating }
                isCreating = true
                return tables.contains(first)
            case SQLITE_CREATE_INDEX:
                let isAutomatic = first.hasPrefix(autoIndexPrefix)
                if !isAutomatic { isCreating = true }
                return tables.contains(second) && (isAutomatic || ReceivedNames.isUsable(first))
            case SQLITE_READ:
                return ReceivedNames.schemaTables.contains(first) || tables.contains(first)
            case SQLITE_INSERT, SQLITE_UPDATE: return ReceivedNames.schemaTables.contains(first)
            case SQLITE_REINDEX: return true
            default: return false
            }
        }
        try ConfinedStatement(sql, on: connection).run(judge, isAllowed: { isCreating })
    }

    /// SQLite compiles a DEFAULT when a row needs it, and asks no authorizer for its functions.
    private static func requireHarmlessFunctions(in sql: String) throws {
        let tokens = SQLTokens(sql).tokens
        for (token, next) in zip(tokens, tokens.dropFirst()) where next.text == "(" {
            let name = SQLName.folded(SQLName.unquoted(token.text))
            guard ReceivedNames.refusedFunctions.contains(name) else { continue }
            throw SyncError(.badData, "it calls the function \(name)")
        }
    }

    /// SQLite asks no authorizer for what a foreign key names.
    private static func requireForeignKeysToUsers(in sql: String) throws {
        let tokens = SQLTokens(sql).tokens
        for (token, next) in zip(tokens, tokens.dropFirst()) where token.isWord("REFERENCES") {
            let name = SQLName.unquoted(next.text)
            guard SQLName.isOwn(name) || SQLName.folded(name).hasPrefix("sqlite_") else { continue }
            throw SyncError(
                .badData,
                "a foreign key refers to \(name.printable(countMax: 60)), a table of syncd or of "
                    + "SQLite")
        }
    }

    private static func refusal(of sql: String, reason: String) -> SyncError {
        SyncError(
            .badData,
            "the remote's schema has a statement that is not one CREATE TABLE or CREATE INDEX of a "
                + "table of the store\(reason.isEmpty ? "" : ": " + reason): "
                + sql.printable(countMax: quotedCountMax),
            hint: SyncError.isOfApplication(reason)
                ? "Nothing was created. Where the replicas state their schema, what only an "
                    + "application can make is left out: run on each synctool upgrade DB, then "
                    + "synctool sync DB"
                : "Nothing was created. Do not trust this remote before its owner explains it")
    }
}

extension SchemaContent.Settings {
    /// The pragmas that have no effect later. Values that SQLite does not have are left out.
    fileprivate var beforeTheFirstTable: [String] {
        var pragmas: [String] = []
        if pageSize.nonzeroBitCount == 1, 512...65_536 ~= pageSize {
            pragmas.append("page_size = \(pageSize)")
        }
        if ["UTF-8", "UTF-16le", "UTF-16be"].contains(encoding) {
            pragmas.append("encoding = '\(encoding)'")
        }
        if 0...2 ~= autoVacuum { pragmas.append("auto_vacuum = \(autoVacuum)") }
        return pragmas
    }
}

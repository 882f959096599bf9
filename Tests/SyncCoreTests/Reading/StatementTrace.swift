import CSQLite
import Synchronization

/// Every statement that this process runs on one database file, on whatever connection, with the
/// steps that SQLite's machine took for it.
final class StatementTrace {
    struct Entry {
        var steps = 0
        var runs = 0
    }

    private static let traces = Mutex<[String: [String: Entry]]>([:])
    private static let installed: Void = {
        // Each new connection of the process is traced; those of other files are passed over.
        let begin: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32 = {
            connection, _, _ in
            sqlite3_trace_v2(
                connection, UInt32(SQLITE_TRACE_PROFILE),
                { _, context, statement, _ in
                    StatementTrace.note(OpaquePointer(context), OpaquePointer(statement))
                    return 0
                }, UnsafeMutableRawPointer(connection))
            return SQLITE_OK
        }
        // SQLite's own signature of it is without arguments.
        _ = sqlite3_auto_extension(unsafeBitCast(begin, to: (@convention(c) () -> Void).self))
    }()

    private let path: String

    /// Connections that are opened from now on are traced.
    init(_ path: String) {
        _ = Self.installed
        self.path = path
        Self.traces.withLock { $0[path] = [:] }
    }

    deinit { _ = Self.traces.withLock { $0.removeValue(forKey: path) } }

    private static func note(_ connection: OpaquePointer?, _ statement: OpaquePointer?) {
        guard let name = sqlite3_db_filename(connection, "main"), let sql = sqlite3_sql(statement)
        else { return }
        let path = String(cString: name)
        let text = String(cString: sql)
        let steps = Int(sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1))
        traces.withLock { traces in
            guard traces[path] != nil else { return }
            traces[path]?[text, default: Entry()].steps += steps
            traces[path]?[text, default: Entry()].runs += 1
        }
    }

    /// What was run since the last call, by its SQL.
    func take() -> [String: Entry] {
        Self.traces.withLock { traces in
            defer { traces[path] = [:] }
            return traces[path] ?? [:]
        }
    }
}

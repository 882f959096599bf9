import Foundation
import SyncTesting

@testable import SyncCore
@testable import SyncValues

/// A writer that knows nothing of syncd and does as it is told: one connection, statement after
/// statement. A statement that fails is passed over; what is left open at the end is rolled back.
protocol ScriptedWriter: AnyObject {
    func run(_ statements: [String]) throws
}

/// How a writer came to the store: as its main database, or attached to another one.
struct WriterSettings {
    var path: String
    /// The store is attached to this database and named by unqualified names.
    var host: String?
    var pragmas: [String]

    /// What to run before anything else.
    var opening: [String] {
        var statements = ["PRAGMA synchronous = OFF"] + pragmas
        if host != nil { statements.append("ATTACH \(Value.text(path)) AS store") }
        return statements
    }

    var opened: String { host ?? path }
}

/// In this process, through SQLite's C interface.
final class LibraryWriter: ScriptedWriter {
    private let connection: PlainConnection
    private let oracle: CauseOracle?

    /// - Parameter schema: its deletes are watched, for ``takeDeletes()``; nil: none are.
    init(_ settings: WriterSettings, schema: RandomSchema? = nil) throws {
        connection = try PlainConnection(settings.opened)
        oracle = schema.map(CauseOracle.init)
        try run(settings.opening)
        try oracle?.install(on: connection)
    }

    /// The deletes since the last call; nil when they are not watched.
    func takeDeletes() throws -> CauseOracle.Deletes? { try oracle?.take(from: connection) }

    func run(_ statements: [String]) throws {
        for sql in statements { try? connection.run(sql) }
        if connection.inTransaction { try connection.run("ROLLBACK") }
    }
}

/// The `sqlite3` shell, in a process of its own.
final class ShellWriter: ScriptedWriter {
    private let process: DialogueProcess

    init(_ settings: WriterSettings) throws {
        // Line by line: its answers must not wait in a buffer.
        process = try DialogueProcess(
            "stdbuf", ["-oL", "sqlite3", "-batch", "-cmd", ".timeout 20000", settings.opened])
        try run(settings.opening)
    }

    func run(_ statements: [String]) throws {
        let text = statements.map { $0 + ";\n" }.joined()
        try process.ask(text + "ROLLBACK;\nSELECT '::done';\n", until: "::done")
    }
}

/// Python's `sqlite3` module, in a process of its own.
final class PythonWriter: ScriptedWriter {
    private let process: DialogueProcess

    private static let script = """
        import json, sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
        for line in sys.stdin:
            for sql in json.loads(line):
                try:
                    connection.execute(sql).fetchall()
                except sqlite3.Error:
                    pass
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            print("::done", flush=True)
        """

    init(_ settings: WriterSettings) throws {
        process = try DialogueProcess("python3", ["-c", Self.script, settings.opened])
        try run(settings.opening)
    }

    func run(_ statements: [String]) throws {
        let line = try JSONEncoder().encode(statements)
        try process.ask(String(decoding: line, as: UTF8.self) + "\n", until: "::done")
    }
}

import Foundation
import SyncCore

/// A writer that signs its transactions: Python if installed, otherwise the sqlite3 shell.
struct Signer {
    private let scene: TourScene
    private let python: String?

    init(scene: TourScene) {
        self.scene = scene
        python = ChildProcess.find("python3")
    }

    var program: String { python == nil ? "the sqlite3 shell" : "a script in Python" }

    /// The command as it is shown.
    func shown(_ statement: String) -> String {
        let name = Shell.quoted(scene.database)
        guard python != nil else { return "sqlite3 \(name) \(Shell.quoted(signed(statement)))" }
        let marker = "INSERT INTO syncd_txn(author, …) VALUES ('importer', …)"
        return "python3 import.py \(name)    # \(marker); \(statement)"
    }

    func run(_ statement: String) async throws {
        guard let python else {
            try await scene.sqlite(signed(statement))
            return
        }
        _ = try await ChildProcess.run(
            python, with: ["-c", Self.script, scene.database, statement], in: scene.folder)
    }

    private func signed(_ statement: String) -> String {
        """
        BEGIN; INSERT INTO syncd_txn(author, context, process)
        VALUES ('importer', 'nightly', 'sqlite3'); \(statement); COMMIT
        """
    }

    private static let script = """
        import os, sqlite3, sys
        connection = sqlite3.connect(sys.argv[1], timeout=5)
        connection.execute("PRAGMA foreign_keys = ON")
        with connection:
            connection.execute(
                "INSERT INTO syncd_txn(author, context, pid, process) VALUES (?, ?, ?, ?)",
                ("importer", "nightly", os.getpid(), "python3"))
            connection.execute(sys.argv[2])
        """
}

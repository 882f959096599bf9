import Foundation
import Testing

/// What the commands say about a store whose tables another program dropped. Every command that they
/// name is run.
@Suite("Dropped tables, by the commands", .timeLimit(.minutes(4)))
struct DroppedTablesCommandTests {
    /// A tracked database of which everything but the triggers on its tables was dropped.
    private func makeRest(_ scene: Scene) async throws {
        try await scene.sql(
            "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES(1, 1)")
        try await scene.tool("track", "a.db").expectSuccess()
        let tables = try await scene.sql(
            "a.db", "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'syncd%'")
        for table in tables.split(separator: "\n") {
            try await scene.sql("a.db", "DROP TABLE \(table)")
        }
    }

    private static let commands = [
        ["status"], ["history"], ["doctor"], ["purge"], ["consumers"], ["sync"], ["conflicts"],
        ["remote", "list"], ["policy"], ["key", "show"],
    ]

    @Test func everyCommandNamesTheOneThatHelps() async throws {
        try await Scene.with { scene in
            try await makeRest(scene)
            for command in Self.commands {
                let said = try await scene.run(command + ["a.db"])
                #expect(said.status == 1, "\(command)")
                let text = said.text + said.errors
                #expect(text.contains("synctool doctor a.db --mend"), "\(command): \(text)")
                #expect(text.contains("synctool untrack a.db"), "\(command): \(text)")
                #expect(!text.contains("no such table"), "\(command): \(text)")
                #expect(!text.contains("no problems found"), "\(command): \(text)")
            }
        }
    }

    @Test(arguments: [["doctor", "a.db", "--mend"], ["track", "a.db"], ["untrack", "a.db"]])
    func everyCommandThatIsNamedHelps(_ command: [String]) async throws {
        try await Scene.with { scene in
            try await makeRest(scene)
            let said = try await scene.run(command)
            // Of the rows from before, doctor cannot say that nothing was missed.
            let isDoctor = command[0] == "doctor"
            #expect(said.status == (isDoctor ? 1 : 0), "\(said.text)\n\(said.errors)")
            #expect(said.text.contains("the rows could not be compared") == isDoctor)
            if command[0] != "untrack" {
                #expect((said.text + said.errors).contains("its earlier history is lost"))
            }
            try await scene.sql("a.db", "UPDATE t SET x = 2; INSERT INTO t VALUES(2, 2)")
            let rest = try await scene.sql(
                "a.db", "SELECT count(*) FROM sqlite_master WHERE name LIKE 'syncd%'")
            #expect((rest == "0\n") == (command[0] == "untrack"))
            if command[0] == "untrack" { return }
            let history = try await scene.tool("history", "a.db")
            #expect(history.text.contains("~ t/1") && history.text.contains("+ t/2"))
            try await scene.tool("doctor", "a.db").expectSuccess()
        }
    }

    /// A daemon repaired it, and nobody has read the journal.
    @Test func aStoreThatADaemonMadeNewIsNamedWithoutADaemon() async throws {
        try await Scene.with { scene in
            try await scene.sql("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
            try await scene.tool("track", "a.db").expectSuccess()
            let url = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            for remedy in [
                ["remote", "add", "a.db", "origin", url], ["doctor", "a.db", "--mend"],
            ] {
                try await scene.sql(
                    "a.db", "INSERT OR REPLACE INTO syncd_meta VALUES('remade', 1764400000000)")
                let doctor = try await scene.tool("doctor", "a.db")
                #expect(doctor.status == 1 && doctor.text.contains("a new store"), "\(doctor.text)")
                #expect(doctor.text.contains("synctool doctor a.db --mend"), "\(doctor.text)")
                let status = try await scene.tool("status", "a.db").expectSuccess()
                #expect(status.text.contains("a new store"), "\(status.text)")
                try await scene.run(remedy).expectSuccess()
                try await scene.tool("doctor", "a.db").expectSuccess()
            }
        }
    }

    /// The way back to a remote that a repaired store was synchronised with.
    @Test func aStoreThatLeftItsFamilyJoinsItAgain() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES(1, 'a')")
            try await scene.tool("track", "a.db").expectSuccess()
            let shared = scene.folder.path("shared")
            try FileManager.default.createDirectory(
                atPath: shared, withIntermediateDirectories: true)
            let url = "dir:\(shared)"
            try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.sql("a.db", "DROP TABLE syncd_object")
            let broken = try await scene.tool("sync", "a.db")
            #expect(broken.status == 1 && broken.errors.contains("synctool doctor a.db --mend"))
            #expect(try await scene.tool("doctor", "a.db").status == 1)
            let mended = try await scene.tool("doctor", "a.db", "--mend")
            #expect(mended.status == 0 && mended.text.contains("a separate store"))
            #expect(mended.text.contains("no change was missed"), "compared with fingerprints")
            try await scene.tool("doctor", "a.db").expectSuccess()
            let refused = try await scene.tool("sync", "a.db")
            #expect(refused.status == 1 && refused.errors.contains("is a remote of another store"))
            #expect(refused.errors.contains("synctool remote remove a.db origin"))
            try await scene.tool("remote", "remove", "a.db", "origin").expectSuccess()
            try await scene.sql("a.db", "INSERT INTO t VALUES(2, 'b')")
            try await scene.tool("remote", "add", "a.db", "origin", url, "--join", "by-key")
                .expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", url, "b.db").expectSuccess()
            #expect(try await scene.sql("b.db", "SELECT x FROM t ORDER BY 1") == "a\nb\n")
        }
    }
}

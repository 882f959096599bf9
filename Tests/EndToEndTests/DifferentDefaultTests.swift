import Foundation
import SyncTesting
import Testing

/// Two replicas that add one column with different defaults.
@Suite("Defaults that differ", .timeLimit(.minutes(5)))
struct DifferentDefaultTests {
    @Test("are told by sync, status, doctor and schema, with the statement that makes rows equal")
    func toldAndMended() async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT);
                INSERT INTO t VALUES (1, 'Ann'), (2, 'Bob')
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            for (name, value) in [("a.db", "1"), ("b.db", "5")] {
                try await scene.tool(
                    "alter", name,
                    "ALTER TABLE t ADD COLUMN lvl INTEGER NOT NULL DEFAULT \(value)"
                ).expectSuccess()
            }
            try await scene.sql("a.db", "UPDATE t SET lvl = 7 WHERE id = 1")
            for name in ["a.db", "b.db"] { try await scene.tool("sync", name).expectSuccess() }
            let synced = try await scene.tool("sync", "a.db").expectSuccess()
            #expect(synced.errors.contains("differs: t.lvl: the default is 1 here and 5 on"))
            #expect(synced.errors.contains("1 row here shows it"), "\(synced.errors)")
            let json = try await scene.tool("sync", "a.db", "--json").expectSuccess()
            #expect(json.text.contains(#""differentDefaults":[{"entity":"t","column":"lvl""#))
            let status = try await scene.tool("status", "a.db", "--direct").expectSuccess()
            #expect(status.text.contains("differs: t.lvl"), "\(status.text)")
            let doctor = try await scene.tool("doctor", "a.db", "--direct")
            #expect(doctor.status != 0 && (doctor.text + doctor.errors).contains("t.lvl"))

            let update = #"UPDATE "t" SET "lvl" = 5 WHERE "lvl" IS 1"#
            #expect(synced.errors.contains(update), "\(synced.errors)")
            try await scene.sql("a.db", update)
            for name in ["a.db", "b.db", "a.db"] {
                try await scene.tool("sync", name).expectSuccess()
            }
            for name in ["a.db", "b.db"] {
                #expect(try await scene.sql(name, "SELECT lvl FROM t ORDER BY id") == "7\n5\n")
                let quiet = try await scene.tool("sync", name).expectSuccess()
                #expect(!quiet.errors.contains("differs"), "\(quiet.errors)")
            }
        }
    }
}

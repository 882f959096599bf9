import Foundation
import SyncTesting
import Testing
import Varlink

/// The file remembers how the last exchange with a remote ended: who looks later, without a daemon,
/// is told.
@Suite("The last exchange", .timeLimit(.minutes(5)))
struct LastExchangeTests {
    private func withStore(_ body: (Scene) async throws -> Void) async throws {
        try await Scene.with { scene in
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db", "CREATE TABLE t(id TEXT PRIMARY KEY); INSERT INTO t VALUES ('first')")
            try await scene.tool("track", "a.db").expectSuccess()
            let url = "dir:" + scene.folder.path("shared")
            try await scene.tool("remote", "add", "a.db", "origin", url).expectSuccess()
            try await body(scene)
        }
    }

    /// `b.db`, of what `a.db` sends.
    private func clone(_ scene: Scene) async throws {
        try await scene.tool("sync", "a.db").expectSuccess()
        let url = "dir:" + scene.folder.path("shared")
        try await scene.tool("clone", url, "b.db").expectSuccess()
    }

    @Test("a failed exchange is told by status and doctor, until one succeeds")
    func failure() async throws {
        try await withStore { scene in
            let unknown = try await scene.tool("status", "a.db").expectSuccess().text
            #expect(unknown.contains("not synced yet"), "\(unknown)")
            try await scene.tool("sync", "a.db").expectSuccess()
            let fine = try await scene.tool("status", "a.db").expectSuccess().text
            #expect(fine.contains("last synced") && !fine.contains("failing"), "\(fine)")
            #expect(try await scene.tool("doctor", "a.db").status == 0)

            rename(scene.folder.path("shared"), scene.folder.path("away"))
            #expect(try await scene.tool("push", "a.db").status == 69)
            let failed = try await scene.tool("status", "a.db").expectSuccess().text
            for word in ["failing since", "does not exist", "last synced"] {
                #expect(failed.contains(word), "\(failed)")
            }
            let json = try await scene.tool("status", "a.db", "--json").expectSuccess().lines[0]
            let told = try JSONParser.parse(json)["failedExchanges"]?.array?.first
            #expect(told?["remote"]?.string == "origin", "\(json)")
            let doctor = try await scene.tool("doctor", "a.db")
            #expect(doctor.status == 1, "\(doctor.text)")
            #expect((doctor.text + doctor.errors).contains("synctool sync a.db origin"))

            rename(scene.folder.path("away"), scene.folder.path("shared"))
            // It says nothing of what was to be sent.
            try await scene.tool("pull", "a.db").expectSuccess()
            let unsent = try await scene.tool("status", "a.db").expectSuccess().text
            #expect(unsent.contains("failing since"), "\(unsent)")
            try await scene.tool("push", "a.db").expectSuccess()
            let mended = try await scene.tool("status", "a.db").expectSuccess().text
            #expect(!mended.contains("failing"), "\(mended)")
            #expect(try await scene.tool("doctor", "a.db").status == 0)
        }
    }

    @Test("a remote that is removed is forgotten")
    func removed() async throws {
        try await withStore { scene in
            rename(scene.folder.path("shared"), scene.folder.path("away"))
            #expect(try await scene.tool("push", "a.db").status == 69)
            try await scene.tool("remote", "remove", "a.db", "origin").expectSuccess()
            #expect(try await scene.tool("doctor", "a.db").status == 0)
            let kept = try await scene.sql(
                "a.db", "SELECT value FROM syncd_meta WHERE key = 'exchanges'")
            #expect(kept == "\n" || kept.isEmpty, "\(kept)")
        }
    }

    @Test("a new identity is a new beginning")
    func renewed() async throws {
        try await withStore { scene in
            rename(scene.folder.path("shared"), scene.folder.path("away"))
            #expect(try await scene.tool("push", "a.db").status == 69)
            try await scene.tool("doctor", "--renew-identity", "a.db").expectSuccess()
            let settled = try await scene.tool("conflicts", "a.db", "--settle").expectSuccess()
            #expect(settled.text.contains("no conflicts were open"), "\(settled.text)")
        }
    }

    @Test("what status cannot read is named")
    func unread() async throws {
        try await withStore { scene in
            try await clone(scene)
            try await scene.tool("sync", "b.db").expectSuccess()
            try await scene.sql("b.db", "DELETE FROM syncd_replica")
            let status = try await scene.tool("status", "b.db").expectSuccess().text
            #expect(status.contains("not read: what other replicas lack"), "\(status)")
            let sync = try await scene.tool("sync", "b.db")
            #expect(sync.status == 65 && sync.errors.contains("syncd_replica"), "\(sync.errors)")
        }
    }

    @Test("schema --apply that leaves something has status 1")
    func schemaThatDiffers() async throws {
        try await withStore { scene in
            try await clone(scene)
            try await scene.tool("schema", "b.db", "--apply").expectSuccess()
            try await scene.tool(
                "alter", "a.db",
                """
                ALTER TABLE t ADD COLUMN n; CREATE TABLE u(id INTEGER PRIMARY KEY,
                  t TEXT, n INTEGER NOT NULL);
                """
            ).expectSuccess()
            try await scene.tool("alter", "b.db", "CREATE TABLE u(id INTEGER PRIMARY KEY, t TEXT)")
                .expectSuccess()
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("track", "b.db").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("schema", "b.db", "--from", "origin", "--apply").expectSuccess()
            // Both made a table, and the schema of the store has the newer one: nothing is left to
            // apply, and a change waits.
            try await scene.sql("a.db", "INSERT INTO u VALUES (1, 'first', 3)")
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            let waiting = try await scene.tool("schema", "b.db", "--apply")
            #expect(waiting.status == 1, "\(waiting)")
            #expect(waiting.errors.contains("synctool alter b.db 'ALTER TABLE u ADD COLUMN ...'"))
            try await scene.tool("alter", "b.db", "ALTER TABLE u ADD COLUMN n").expectSuccess()
            try await scene.tool("sync", "b.db").expectSuccess()
            try await scene.tool("schema", "b.db", "--apply").expectSuccess()
            #expect(try await scene.sql("b.db", "SELECT n FROM u") == "3\n")
        }
    }
}

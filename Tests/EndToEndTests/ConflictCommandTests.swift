import Foundation
import SyncTesting
import Testing

/// Conflicts and names of replicas, as the commands say them.
@Suite("Conflicts at the command line", .timeLimit(.minutes(5)))
struct ConflictCommandTests {
    /// Two replicas, of which both gave their row one UNIQUE value that cannot be NULL.
    private func withClash(_ body: (Scene) async throws -> Void) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, name TEXT);
                CREATE TABLE visit(id INTEGER PRIMARY KEY, u INTEGER REFERENCES u);
                INSERT INTO u VALUES (1, 'ann', 'Ann'), (2, 'bob', 'Bob');
                """)
            try await scene.tool("track", "a.db", "--entity", "u").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("remote", "name", "a.db", "desk").expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            try await scene.tool("remote", "name", "b.db", "laptop").expectSuccess()
            try await scene.sql("a.db", "UPDATE u SET email = 'new' WHERE id = 1")
            try await scene.tool("sync", "a.db").expectSuccess()
            usleep(3000)  // the second write has a later time, in milliseconds
            try await scene.sql("b.db", "UPDATE u SET email = 'new' WHERE id = 2")
            for name in ["b.db", "a.db"] { try await scene.tool("sync", name).expectSuccess() }
            try await body(scene)
        }
    }

    @Test("rows that are not shown are told, named, and resolved")
    func hiddenRow() async throws {
        try await withClash { scene in
            let synced = try await scene.tool("sync", "a.db").expectSuccess()
            #expect(synced.errors.contains("1 row is not shown"), "\(synced)")
            #expect(synced.errors.contains("synctool conflicts a.db"))
            let status = try await scene.tool("status", "a.db", "--direct").expectSuccess()
            #expect(status.text.contains("1 row is not shown"))
            #expect(status.text.contains("desk ("))
            let doctor = try await scene.tool("doctor", "a.db", "--direct")
            #expect(doctor.text.contains("1 row is not shown"))

            let listed = try await scene.tool("conflicts", "a.db").expectSuccess()
            #expect(listed.text.contains("u/2  email  not shown"))
            #expect(listed.text.contains("on laptop"))
            let json = try await scene.tool("conflicts", "a.db", "--json").expectSuccess()
            #expect(json.text.contains(#""state":"notShown""#))
            #expect(json.text.contains(#""replicaName":"laptop""#))

            let shown = try await scene.tool("conflicts", "show", "a.db", "1").expectSuccess()
            #expect(shown.text.contains("--keep shown: - u/2"))
            #expect(shown.text.contains("--keep losing: not possible: u/1 has the same value"))
            let refused = try await scene.tool("conflicts", "resolve", "a.db", "1")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("conflicts resolve a.db 1 --set email=VALUE"))
            let settled = try await scene.tool("conflicts", "a.db", "--settle")
            #expect(settled.status == 1)
            #expect(settled.errors.contains("u/2"))

            let resolved = try await scene.tool(
                "conflicts", "resolve", "a.db", "1", "--set", "email=bob2"
            ).expectSuccess()
            #expect(resolved.text.contains("+ u/2  id 2, email 'bob2', name 'Bob'"))
            for name in ["a.db", "b.db"] { try await scene.tool("sync", name).expectSuccess() }
            #expect(try await scene.sql("b.db", "SELECT email FROM u ORDER BY id") == "new\nbob2\n")
            let closed = try await scene.tool("conflicts", "show", "b.db", "1").expectSuccess()
            #expect(closed.text.contains("on desk"))
        }
    }

    @Test("a replica is named where its identifier is accepted, and history says where from")
    func names() async throws {
        try await withClash { scene in
            let history = try await scene.tool("history", "a.db", "--direct").expectSuccess()
            #expect(history.text.contains("from laptop#"))
            let json = try await scene.tool("history", "a.db", "--direct", "--json").expectSuccess()
            #expect(json.text.contains(#""originName":"laptop""#))
            try await scene.tool(
                "policy", "a.db", "u", "--property", "name=preferring laptop"
            ).expectSuccess()
            let members = try await scene.tool("remote", "members", "a.db", "--remove", "laptop")
                .expectSuccess()
            #expect(members.text.contains("removed"))
            let unknown = try await scene.tool("remote", "members", "a.db", "--remove", "nobody")
            #expect(unknown.status == 64)
        }
    }

    @Test("rows of an untracked table that a merge left dangling are told, with the command")
    func danglingRows() async throws {
        try await withClash { scene in
            try await scene.sql("a.db", "INSERT INTO visit VALUES (1, 1)")
            try await scene.sql("b.db", "DELETE FROM u WHERE id = 1")
            try await scene.tool("sync", "b.db").expectSuccess()
            let synced = try await scene.tool("sync", "a.db").expectSuccess()
            #expect(synced.errors.contains("1 row of visit, which is not synchronised, refers"))
            #expect(synced.errors.contains("foreign_key_check"))
        }
    }
}

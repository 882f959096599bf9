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

    @Test("a command names the conflict about the column that keeps the row out")
    func hiddenByAnotherColumn() async throws {
        try await withClash { scene in
            try await scene.sql("b.db", "UPDATE u SET name = 'Bea' WHERE id = 2")
            try await scene.sql("a.db", "UPDATE u SET name = 'Ann 2' WHERE id = 1")
            for name in ["b.db", "a.db"] { try await scene.tool("sync", name).expectSuccess() }
            let listed = try await scene.tool("conflicts", "a.db").expectSuccess().lines
            let email = try #require(listed.first { $0.contains("email") }?.prefix { $0 != " " })
            for line in listed {
                let id = String(line.prefix { $0 != " " })
                let shown = try await scene.tool("conflicts", "show", "a.db", id).expectSuccess()
                #expect(
                    shown.text.contains("conflicts resolve a.db \(email) --set email=VALUE"),
                    "\(shown.text)")
            }
        }
    }

    /// Two replicas with an empty table, which both insert a row with one UNIQUE value.
    private func withTwoInserts(_ body: (Scene) async throws -> Void) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, name TEXT);
                CREATE TABLE visit(id INTEGER PRIMARY KEY, u INTEGER NOT NULL REFERENCES u);
                INSERT INTO u VALUES (9, 'old', 'Old')
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.tool("clone", shared, "b.db").expectSuccess()
            try await body(scene)
        }
    }

    @Test("a row that became one with another is shown: told, listed and settled as such")
    func rowOfTwo() async throws {
        try await withTwoInserts { scene in
            try await scene.sql("a.db", "INSERT INTO u VALUES (1, 'new', 'Ann')")
            try await scene.tool("sync", "a.db").expectSuccess()
            usleep(3000)  // the second write has a later time, in milliseconds
            try await scene.sql("b.db", "INSERT INTO u VALUES (5, 'new', 'Bob')")
            for name in ["b.db", "a.db"] { try await scene.tool("sync", name).expectSuccess() }
            for (name, key) in [("a.db", "1"), ("b.db", "5")] {
                let synced = try await scene.tool("sync", name).expectSuccess()
                #expect(!synced.errors.contains("not shown"), "\(synced.errors)")
                for command in ["status", "doctor"] {
                    let told = try await scene.tool(command, name, "--direct")
                    #expect(!told.text.contains("not shown"), "\(told.text)")
                }
                let json = try await scene.tool("conflicts", name, "--json").expectSuccess()
                #expect(json.text.contains(#""state":"shown""#), "\(json.text)")
                let shown = try await scene.tool("conflicts", "show", name, "1").expectSuccess()
                #expect(shown.text.contains("current:    name 'Bob'"), "\(shown.text)")
                #expect(shown.text.contains("u/\(key)"), "\(shown.text)")
            }
            // The log follows the row to another key.
            try await scene.sql("a.db", "UPDATE u SET id = 7 WHERE id = 1")
            let moved = try await scene.tool("conflicts", "show", "a.db", "1").expectSuccess()
            #expect(moved.text.contains("u/7"), "\(moved.text)")
            #expect(moved.text.contains("current:    name 'Bob'"), "\(moved.text)")
            try await scene.tool("conflicts", "a.db", "--settle").expectSuccess()
        }
    }

    @Test("a row that outlives its delete is shown; what is resolved is refused with status 1")
    func deleteOverridden() async throws {
        try await withTwoInserts { scene in
            try await scene.sql("a.db", "DELETE FROM u WHERE id = 9")
            try await scene.tool("sync", "a.db").expectSuccess()
            try await scene.sql("b.db", "INSERT INTO visit VALUES (1, 9)")
            for name in ["b.db", "a.db"] { try await scene.tool("sync", name).expectSuccess() }
            func show() async throws -> String {
                try await scene.tool("conflicts", "show", "a.db", "1").expectSuccess().text
            }
            let open = try await show()
            #expect(open.contains("current:    shown, because other rows refer to it"), "\(open)")
            #expect(open.contains("overridden: deleted"))
            let json = try await scene.tool("conflicts", "a.db", "--json").expectSuccess().text
            #expect(json.contains(#""shown":{"values":{},"deleted":false"#), "\(json)")
            try await scene.tool("conflicts", "resolve", "a.db", "1", "--keep", "shown")
                .expectSuccess()
            let closed = try await show()
            #expect(closed.contains("was shown:  shown"), "\(closed)")
            #expect(closed.contains("resolved:   shown"), "\(closed)")

            let again = try await scene.tool("conflicts", "resolve", "a.db", "1")
            #expect(again.status == 1, "\(again)")
            #expect(again.errors.contains("already resolved"))
            for arguments in [["--all"], ["--all", "--expect", "3"]] {
                let none = try await scene.run(["conflicts", "resolve", "a.db"] + arguments)
                #expect(none.status == 1)
                #expect(none.errors.contains("no conflict is open"), "\(none.errors)")
                #expect(!none.errors.contains("--expect 0"), "\(none.errors)")
            }
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
            #expect(unknown.status == 1)
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

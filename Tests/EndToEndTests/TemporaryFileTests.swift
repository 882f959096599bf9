import Foundation
import SyncTesting
import Testing

/// The temporary files of `clone` and `remote add --join`, in folders of several users.
@Suite("Temporary files of commands", .timeLimit(.minutes(5)))
struct TemporaryFileTests {
    private func withStore(_ body: (Scene, String) async throws -> Void) async throws {
        try await Scene.with { scene in
            let shared = "dir:" + scene.folder.path("shared")
            mkdir(scene.folder.path("shared"), 0o755)
            try await scene.sql(
                "a.db", "CREATE TABLE t(id TEXT PRIMARY KEY); INSERT INTO t VALUES ('row')")
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            try await body(scene, shared)
        }
    }

    private func mode(_ scene: Scene, _ name: String) -> mode_t {
        var status = stat()
        return stat(scene.folder.path(name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    private func expectRefused(
        _ scene: Scene, _ shared: String, _ named: String,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let clone = try await scene.tool("clone", shared, "c.db")
        #expect(clone.status == 1, "\(clone.errors)", sourceLocation: location)
        #expect(clone.errors.contains(named), "\(clone.errors)", sourceLocation: location)
        #expect(clone.errors.contains("ls -l"), "\(clone.errors)", sourceLocation: location)
        #expect(!clone.errors.contains("NSCocoa"), "\(clone.errors)", sourceLocation: location)
        #expect(mode(scene, "c.db") == 0, "there is no database", sourceLocation: location)
    }

    @Test func aCloneAdoptsNothingThatItsUserDidNotMakeAlone() async throws {
        try await withStore { scene, shared in
            let part = scene.folder.path("c.db.syncd-part")
            try await scene.tool("clone", shared, "c.db.syncd-part").expectSuccess()
            try scene.chmod("c.db.syncd-part", 0o666)
            try await expectRefused(scene, shared, "c.db.syncd-part")
            try scene.chmod("c.db.syncd-part", 0o644)
            link(part, scene.folder.path("other"))
            try await expectRefused(scene, shared, "c.db.syncd-part")
            unlink(part)
            symlink(scene.folder.path("other"), part)
            try await expectRefused(scene, shared, "c.db.syncd-part")
            unlink(part)
            for beside in ["-wal", "-journal", ".syncd-clone", ".syncd-clone-wal"] {
                symlink(scene.folder.path("other"), part + beside)
                try await expectRefused(scene, shared, "c.db.syncd-part" + beside)
                unlink(part + beside)
            }
            #expect(try await scene.sql("other", "SELECT id FROM t") == "row\n", "not touched")
            try await scene.tool("clone", shared, "c.db").expectSuccess()
        }
    }

    @Test func aCloneAdoptsNothingOfAnotherUser() async throws {
        try await withStore { scene, shared in
            let user = try scene.otherUser()
            try await scene.tool("clone", shared, "c.db.syncd-part").expectSuccess()
            let part = scene.folder.path("c.db.syncd-part")
            chown(part, user, user)
            let before = try Data(contentsOf: URL(filePath: part))
            try await expectRefused(scene, shared, "user id \(user)")
            #expect(try Data(contentsOf: URL(filePath: part)) == before)
            unlink(part)
            try Data().write(to: URL(filePath: part + "-wal"))
            chown(part + "-wal", user, user)
            try await expectRefused(scene, shared, "c.db.syncd-part-wal")
        }
    }

    @Test func aCloneHasThePermissionsOfANewDatabase() async throws {
        try await withStore { scene, shared in
            try await scene.tool("clone", shared, "c.db").expectSuccess()
            #expect(mode(scene, "c.db") == mode(scene, "a.db"))
        }
    }

    @Test func whatAKilledJoinLeavesIsNamedByDoctor_andRemovedByTheNextJoin() async throws {
        try await withStore { scene, shared in
            try await scene.sql(
                "j.db", "CREATE TABLE t(id TEXT PRIMARY KEY); INSERT INTO t VALUES ('mine')")
            try await scene.tool("track", "j.db").expectSuccess()
            let left = ["", "-wal", "-shm", ".syncd-clone", ".syncd-clone-journal"]
                .map { "j.db.syncd-join" + $0 }
            for name in left {
                try Data("x".utf8).write(to: scene.folder.url.appending(path: name))
            }
            let doctor = try await scene.tool("doctor", "j.db")
            #expect(doctor.status != 0)
            for name in left {
                #expect((doctor.text + doctor.errors).contains(name), "\(doctor.text)")
            }
            try await scene.tool("remote", "add", "j.db", "origin", shared, "--join", "by-key")
                .expectSuccess()
            for name in left { #expect(mode(scene, name) == 0, "\(name) is gone") }
            try await scene.tool("doctor", "j.db").expectSuccess()
        }
    }
}

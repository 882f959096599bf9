import Foundation
import SyncTesting
import Testing
import Varlink

/// What a user may not read in a remote folder is named, and is neither taken for removed nor for
/// nothing.
@Suite("Files of a remote that may not be read", .timeLimit(.minutes(5)))
struct UnreadRemoteTests {
    /// A store of root's, its folder, and a clone `own/u.db` of another user.
    private struct Pair {
        let scene: Scene
        let user: UInt32
        let shared: String
        /// The subfolder of root's replica.
        let folder: String

        init(_ scene: Scene) async throws {
            self.scene = scene
            user = try scene.otherUser()
            shared = scene.folder.path("shared")
            mkdir(shared, 0o777)
            try scene.chmod("shared", 0o777)
            try await scene.sql(
                "a.db", "CREATE TABLE t(id TEXT PRIMARY KEY); INSERT INTO t VALUES ('first')")
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.tool("remote", "add", "a.db", "origin", "dir:" + shared)
                .expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            mkdir(scene.folder.path("own"), 0o755)
            chown(scene.folder.path("own"), user, user)
            let names = try FileManager.default.contentsOfDirectory(atPath: shared)
            folder = try #require(names.first { $0.count == 32 })
            try await scene.tool(asUser: user, "clone", "dir:" + shared, "own/u.db")
                .expectSuccess()
            try await scene.sql("a.db", "INSERT INTO t VALUES ('second')")
            try await scene.tool("sync", "a.db").expectSuccess()
        }

        func batches() throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: shared)
                .filter { $0.hasSuffix(".synb") }.sorted()
        }

        func rows() async throws -> String {
            try await scene.sql("own/u.db", "SELECT group_concat(id) FROM t")
        }

        /// A command ended for the lack of a permission.
        func expectDenial(
            _ run: Child.Output, _ words: String, location: SourceLocation = #_sourceLocation
        ) {
            #expect(run.status == 77, "\(run.errors)", sourceLocation: location)
            #expect(run.errors.contains(words), "\(run.errors)", sourceLocation: location)
        }

        /// As the other user: each exchange and check names what cannot be read.
        func expectNamed(
            _ name: String, location: SourceLocation = #_sourceLocation
        ) async throws {
            let before = try batches()
            for command in ["sync", "pull", "push"] {
                let run = try await scene.tool(asUser: user, command, "own/u.db")
                #expect(run.status == 77, "\(run.errors)", sourceLocation: location)
                for word in [name, "user id 0", "chmod"] {
                    #expect(run.errors.contains(word), "\(run.errors)", sourceLocation: location)
                }
                let all = run.text + run.errors
                #expect(!all.contains("nothing to"), "\(all)", sourceLocation: location)
                #expect(!all.contains("rewound"), "\(all)", sourceLocation: location)
            }
            let json = try await scene.tool(asUser: user, "pull", "own/u.db", "--json")
            #expect(json.status == 77, sourceLocation: location)
            #expect(json.text.contains("\"hint\""), "\(json.text)", sourceLocation: location)
            #expect(try batches() == before, "it was sent again", sourceLocation: location)
            let status = try await scene.tool(asUser: user, "status", "own/u.db")
            #expect(status.text.contains(name), "\(status.text)", sourceLocation: location)
            let doctor = try await scene.tool(asUser: user, "doctor", "own/u.db")
            #expect(doctor.status != 0, sourceLocation: location)
            #expect(
                (doctor.text + doctor.errors).contains(name), "\(doctor.text)",
                sourceLocation: location)
        }
    }

    @Test(arguments: [0o700, 0o711, 0o744])
    func aFolderThatMayNotBeReadIsNamed_andCountsAsThere(mode: Int) async throws {
        try await Scene.with { scene in
            let pair = try await Pair(scene)
            // What the user's own replica has is sent again by nobody else.
            try await scene.tool(asUser: pair.user, "sync", "own/u.db").expectSuccess()
            try scene.chmod("shared/" + pair.folder, mode)
            try await pair.expectNamed(pair.folder)
            try await scene.sql("own/u.db", "INSERT INTO t VALUES ('mine')")
            for ending in ["", "-wal", "-shm"] {
                chown(scene.folder.path("own/u.db" + ending), pair.user, pair.user)
            }
            let before = try pair.batches().count
            let sent = try await scene.tool(asUser: pair.user, "sync", "own/u.db")
            #expect(sent.status == 77)
            #expect(sent.text.contains("pushed 1"), "\(sent.text)")
            #expect(try pair.batches().count == before + 1)
            let clone = try await scene.tool(
                asUser: pair.user, "clone", "dir:" + pair.shared, "own/v.db")
            #expect(clone.status == 77, "\(clone.errors)")
            #expect(clone.errors.contains(pair.folder), "\(clone.errors)")
            try scene.chmod("shared/" + pair.folder, 0o755)
            try await scene.tool(asUser: pair.user, "sync", "own/u.db").expectSuccess()
            let status = try await scene.tool(asUser: pair.user, "status", "own/u.db")
            #expect(!status.text.contains("not complete"), "\(status.text)")
            try await scene.tool("sync", "a.db").expectSuccess()
            #expect(try await scene.sql("a.db", "SELECT count(*) FROM t") == "3\n")
        }
    }

    @Test func aBatchThatMayNotBeReadIsNamed_andComesLater() async throws {
        try await Scene.with { scene in
            let pair = try await Pair(scene)
            let newest = try #require(pair.batches().last { $0.hasPrefix(pair.folder) })
            try scene.chmod("shared/" + newest, 0o600)
            try await pair.expectNamed(newest)
            #expect(try await pair.rows() == "first\n")
            let clone = try await scene.tool(
                asUser: pair.user, "clone", "dir:" + pair.shared, "own/w.db")
            #expect(clone.status == 77 && clone.errors.contains(newest), "\(clone.errors)")
            #expect(try await scene.sql("own/w.db", "SELECT id FROM t") == "first\n")
            try scene.chmod("shared/" + newest, 0o644)
            try await scene.tool(asUser: pair.user, "sync", "own/u.db").expectSuccess()
            try await scene.tool(asUser: pair.user, "sync", "own/w.db").expectSuccess()
            #expect(try await pair.rows() == "first,second\n")
            try await scene.tool(asUser: pair.user, "doctor", "own/u.db").expectSuccess()
        }
    }

    @Test func aNoteThatMayNotBeReadIsNamed() async throws {
        try await Scene.with { scene in
            let pair = try await Pair(scene)
            try scene.chmod("shared/" + pair.folder + "/merged", 0o600)
            try await pair.expectNamed(pair.folder + "/merged")
            #expect(try await pair.rows() == "first,second\n")
        }
    }

    @Test func aMarkerOrFolderThatMayNotBeReadIsNamed() async throws {
        try await Scene.with { scene in
            let pair = try await Pair(scene)
            try scene.chmod("shared/syncd-remote", 0o600)
            let marker = try await scene.tool(asUser: pair.user, "sync", "own/u.db")
            #expect(marker.status == 77, "\(marker.errors)")
            #expect(marker.errors.contains("chmod -R o+rX"), "\(marker.errors)")
            try scene.chmod("shared/syncd-remote", 0o644)
            // 0711: the marker can be read. 0744: names can be listed. 0700: nothing.
            for mode in [0o700, 0o711, 0o744] {
                try scene.chmod("shared", mode)
                for arguments in [
                    ["sync", "own/u.db"], ["push", "own/u.db"],
                    ["clone", "dir:" + pair.shared, "own/x.db"],
                    ["remote", "add", "own/u.db", "other", "dir:" + pair.shared],
                ] {
                    let run = try await scene.run(arguments, asUser: pair.user)
                    let wanted = mode == 0o744 ? "search it" : "read and search it"
                    pair.expectDenial(run, "user id \(pair.user) needs permission to \(wanted)")
                    #expect(
                        run.errors.contains("chmod -R o+rX \(pair.shared)"), "\(run.errors)")
                }
            }
            try scene.chmod("shared", 0o755)
            try await scene.tool(asUser: pair.user, "sync", "own/u.db").expectSuccess()
        }
    }

    @Test func aFolderOnTheWayThatMayNotBeSearchedIsNamed() async throws {
        try await Scene.with { scene in
            let pair = try await Pair(scene)
            let parent = scene.folder.path("mounts")
            mkdir(parent, 0o755)
            try FileManager.default.moveItem(atPath: pair.shared, toPath: parent + "/shared")
            symlink(parent + "/shared", pair.shared)
            try await scene.tool(asUser: pair.user, "sync", "own/u.db").expectSuccess()
            try scene.chmod("mounts", 0o744)
            let run = try await scene.run(
                ["clone", "dir:\(parent)/shared", "own/x.db"], asUser: pair.user)
            pair.expectDenial(run, "folder \(parent) belongs to user id 0 and has the mode 744")
            #expect(run.errors.contains("chmod o+x \(parent)"), "\(run.errors)")
            let linked = try await scene.tool(asUser: pair.user, "sync", "own/u.db")
            #expect(linked.status == 77, "\(linked.errors)")
        }
    }

    @Test func aFolderThatIsNotThereIsStill69() async throws {
        try await Scene.with { scene in
            let pair = try await Pair(scene)
            try FileManager.default.removeItem(atPath: pair.shared)
            let missing = try await scene.tool("sync", "a.db")
            #expect(missing.status == 69, "\(missing.errors)")
            #expect(missing.errors.contains("does not exist"), "\(missing.errors)")
            FileManager.default.createFile(atPath: pair.shared, contents: nil)
            let file = try await scene.tool("sync", "a.db")
            #expect(file.status == 69, "\(file.errors)")
            #expect(file.errors.contains("not a folder"), "\(file.errors)")
        }
    }
}

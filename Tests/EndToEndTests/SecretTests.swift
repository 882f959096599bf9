import Foundation
import SyncTesting
import Testing

/// What never leaves a process: keys, in core dumps and in output, and control characters of others
/// on the way to the terminal.
@Suite("Secrets and terminals", .timeLimit(.minutes(3)))
struct SecretTests {
    private static let escape = "\u{1b}[31m"

    private func makeNotes(_ scene: Scene) async throws -> String {
        mkdir(scene.folder.path("shared"), 0o755)
        try await scene.sql("a.db", "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
        try await scene.tool("track", "a.db").expectSuccess()
        return "dir:" + scene.folder.path("shared")
    }

    private func expectNoEscape(
        _ output: Child.Output, mentioning word: String,
        location: SourceLocation = #_sourceLocation
    ) {
        let text = output.text + output.errors
        #expect(text.contains(word), "\(text)", sourceLocation: location)
        #expect(!text.unicodeScalars.contains("\u{1b}"), "\(text)", sourceLocation: location)
    }

    @Test("neither the tool nor the daemon leaves a core dump")
    func noCoreDumps() async throws {
        try await Scene.with { scene in
            _ = try await makeNotes(scene)
            let daemon = try await scene.startDaemon()
            let watch = try scene.start(Binaries.synctool, "watch", "a.db", "--direct")
            for process in [daemon, watch] {
                let isLimited = await eventually(within: .seconds(20), every: .milliseconds(20)) {
                    let limits = try? String(
                        contentsOfFile: "/proc/\(process.pid)/limits", encoding: .utf8)
                    let line = limits?.split(separator: "\n").first { $0.hasPrefix("Max core") }
                    return line?.split(separator: " ").dropFirst(4).first.map {
                        $0 == "1" || $0 == "0"
                    }
                        ?? false
                }
                #expect(isLimited)
            }
            await watch.stop()
            await daemon.stop()
        }
    }

    @Test("what a remote names and says is shown without control characters")
    func noEscapes() async throws {
        try await Scene.with { scene in
            let shared = try await makeNotes(scene)
            let bad = scene.folder.path("bad" + Self.escape)
            expectNoEscape(
                try await scene.tool("remote", "add", "a.db", "bad", "dir:" + bad),
                mentioning: "does not exist")
            try await scene.tool("remote", "add", "a.db", "origin", shared).expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            // A file that is no batch, under a name that colours the terminal.
            let folders = try FileManager.default.contentsOfDirectory(
                atPath: scene.folder.path("shared"))
            let folder = try #require(folders.first { $0.count == 32 })
            let file = scene.folder.path("shared/\(folder)/\(Self.escape)x.synb")
            try Data("no batch".utf8).write(to: URL(fileURLWithPath: file))
            let pulled = try await scene.tool("pull", "a.db")
            expectNoEscape(pulled, mentioning: "skipped")
            // A table whose name does, which the other replica does not have.
            let cloned = try await scene.tool("clone", shared, "b.db")
            #expect(cloned.status == 65)
            expectNoEscape(cloned, mentioning: "skipped")
            try await scene.sql(
                "a.db",
                "CREATE TABLE \"x\(Self.escape)\"(id INTEGER PRIMARY KEY);"
                    + "INSERT INTO \"x\(Self.escape)\" VALUES (1)")
            expectNoEscape(try await scene.tool("sync", "a.db"), mentioning: "pushed")
            let synced = try await scene.tool("sync", "b.db")
            expectNoEscape(synced, mentioning: "has no table")
            // What the far side of ssh prints before it ends.
            let ssh = scene.folder.path("ssh")
            try Data("#!/bin/sh\nprintf '\\033[31mrefused\\n' >&2\nexit 1\n".utf8)
                .write(to: URL(fileURLWithPath: ssh))
            try scene.chmod("ssh", 0o755)
            var environment = scene.environment
            environment["SYNCD_SSH"] = ssh
            let output = try await Child(
                Binaries.synctool, ["clone", "ssh://host/x.db", "c.db"], in: scene.folder,
                environment: environment
            ).output()
            expectNoEscape(output, mentioning: "refused")
        }
    }

    @Test("no command prints a key")
    func keysAreNotPrinted() async throws {
        try await Scene.with { scene in
            let shared = try await makeNotes(scene)
            try await scene.tool("remote", "add", "a.db", "origin", shared, "--encrypt")
                .expectSuccess()
            try await scene.tool("sync", "a.db").expectSuccess()
            let secrets = try await scene.sql(
                "a.db",
                """
                SELECT lower(hex(secret)) FROM syncd_key
                UNION ALL SELECT lower(hex(secret)) FROM syncd_signer WHERE secret IS NOT NULL
                """
            ).split(separator: "\n")
            #expect(secrets.count == 2)
            for arguments in [
                ["key", "show", "a.db"], ["key", "rotate", "a.db"], ["remote", "members", "a.db"],
                ["remote", "list", "a.db"], ["status", "a.db"], ["doctor", "a.db"],
                ["sync", "a.db"],
            ] {
                for format in [[], ["--json"]] {
                    let output = try await scene.run(arguments + format)
                    let text = (output.text + output.errors).lowercased()
                    for secret in secrets { #expect(!text.contains(secret), "\(arguments)") }
                }
            }
        }
    }
}

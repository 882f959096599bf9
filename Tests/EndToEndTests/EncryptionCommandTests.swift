import Foundation
import SyncTesting
import Testing

/// What the commands keep from others: what a store encrypts, passwords in addresses, private keys;
/// and keys and folders that were damaged on their way.
@Suite("Encryption at the command line", .timeLimit(.minutes(5)))
struct EncryptionCommandTests {
    /// A store `a.db` with a folder `shared` as its remote `origin`, pushed.
    private func withStore(
        _ options: String..., body: (Scene, String) async throws -> Void
    ) async throws {
        try await Scene.with { scene in
            let shared = try folder(scene, "shared")
            try await scene.sql(
                "a.db",
                "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);"
                    + "INSERT INTO note VALUES (1, 'one')")
            try await scene.tool("track", "a.db").expectSuccess()
            try await scene.run(["remote", "add", "a.db", "origin", shared] + options)
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            try await body(scene, shared)
        }
    }

    private func folder(_ scene: Scene, _ name: String) throws -> String {
        mkdir(scene.folder.path(name), 0o755)
        return "dir:" + scene.folder.path(name)
    }

    private func expect(
        _ output: Child.Output, _ status: Int32, _ words: String...,
        location: SourceLocation = #_sourceLocation
    ) {
        let text = output.text + output.errors
        #expect(output.status == status, "\(text)", sourceLocation: location)
        for word in words {
            #expect(text.contains(word), "'\(word)': \(text)", sourceLocation: location)
        }
    }

    @Test func aStoreThatEncryptsSendsInTheClearOnRequestAlone() async throws {
        try await withStore("--encrypt") { scene, _ in
            let second = try folder(scene, "second")
            func add(_ options: String...) async throws -> Child.Output {
                try await scene.run(["remote", "add", "a.db", "second", second] + options)
            }
            expect(try await add(), 1, "in the clear", "--encrypt", "--in-clear")
            expect(try await add("--in-clear", "--encrypt"), 64, "--in-clear and --encrypt")
            let entries = try FileManager.default.contentsOfDirectory(
                atPath: scene.folder.path("second"))
            #expect(entries.isEmpty, "nothing was written: \(entries)")
            try await add("--in-clear").expectSuccess()
            try await scene.tool("sync", "a.db", "second").expectSuccess()
            expect(try await scene.tool("remote", "list", "a.db"), 0, "in the clear")
            expect(try await scene.tool("doctor", "a.db"), 0)
            // Without the remote, the key alone says that the store encrypts.
            for name in ["origin", "second"] {
                try await scene.tool("remote", "remove", "a.db", name).expectSuccess()
            }
            expect(try await add(), 1, "--in-clear")
            // One that an earlier version added.
            try await scene.sql(
                "a.db", "INSERT INTO syncd_remote VALUES ('old', '\(second)', '{}')")
            expect(
                try await scene.tool("doctor", "a.db"), 1,
                "remote old gets everything in the clear", "--in-clear")
        }
    }

    @Test func anSSHRemoteOfAStoreThatEncryptsIsAskedFor() async throws {
        try await withStore("--encrypt") { scene, _ in
            let (ssh, path) = (scene.folder.path("ssh"), scene.folder.path("a.db"))
            try Data("#!/bin/sh\nexec '\(Binaries.synctool)' serve --stdio '\(path)'\n".utf8)
                .write(to: URL(fileURLWithPath: ssh))
            try scene.chmod("ssh", 0o755)
            var environment = scene.environment
            environment["SYNCD_SSH"] = ssh
            func add(_ options: String...) async throws -> Child.Output {
                try await Child(
                    Binaries.synctool,
                    ["remote", "add", "a.db", "machine", "ssh://host\(path)"] + options,
                    in: scene.folder, environment: environment
                ).output()
            }
            expect(try await add(), 1, "in the clear", "--in-clear")
            try await add("--in-clear").expectSuccess()
        }
    }

    @Test func aPasswordInAnAddressIsRefusedAndNotShown() async throws {
        try await withStore { scene, _ in
            for url in [
                "ssh://me:hush@host/x.db", "ssh://me:hush@host:22/x.db", "ssh://me:hu/hush@host/x",
                "ssh://me%3Ahush@host/x.db", "ssh://me:hush@hush@host/x.db",
            ] {
                try Data("stores: [{path: /x, remotes: [{name: o, url: '\(url)'}]}]".utf8)
                    .write(to: URL(fileURLWithPath: scene.folder.path("syncd.yaml")))
                let check = try await Child(
                    Binaries.syncd, ["--user", "--config", "syncd.yaml", "--check-config"],
                    in: scene.folder, environment: scene.environment
                ).output()
                for (output, status) in [
                    (try await scene.tool("remote", "add", "a.db", "x", url), 64 as Int32),
                    (try await scene.tool("clone", url, "b.db"), 64), (check, 78),
                ] {
                    expect(output, status, "password", "ssh://user@host/path/to.db")
                    #expect(!(output.text + output.errors).contains("hush"), "\(output.errors)")
                }
                // An entry of an earlier version.
                try await scene.sql(
                    "a.db", "INSERT INTO syncd_remote VALUES ('old', '\(url)', '{}')")
                for command in [
                    ["remote", "list", "a.db"], ["remote", "list", "a.db", "--json"],
                    ["status", "a.db"], ["sync", "a.db", "old"], ["doctor", "a.db"],
                ] {
                    let output = try await scene.run(command)
                    #expect(!(output.text + output.errors).contains("hush"), "\(output.errors)")
                }
                try await scene.tool("remote", "remove", "a.db", "old").expectSuccess()
            }
        }
    }

    @Test func aDamagedPublicKeyIsRefused() async throws {
        try await withStore("--encrypt") { scene, _ in
            let key = try await scene.tool("key", "identity").expectSuccess().lines[0]
            for place in [15, 30, key.count - 1] {
                var characters = Array(key)
                characters[place] = characters[place] == "A" ? "B" : "A"
                let output = try await scene.tool(
                    "key", "share", "a.db", "--to", String(characters))
                expect(output, 64, "damaged public key", "key identity")
                #expect(output.text.isEmpty)
            }
            expect(
                try await scene.tool("key", "share", "a.db", "--to", String(key.dropLast())), 64,
                "damaged public key")
            try await scene.tool("key", "share", "a.db", "--to", key).expectSuccess()
        }
    }

    @Test func anIdentityThatOthersMayReadIsNotUsed() async throws {
        try await Scene.with { scene in
            let key = try await scene.tool("key", "identity").expectSuccess().text
            for mode in [0o644, 0o640, 0o620] {
                try scene.chmod("config/syncd/identity", mode)
                expect(try await scene.tool("key", "identity"), 1, "private key", "chmod 600")
            }
            try scene.chmod("config/syncd/identity", 0o600)
            #expect(try await scene.tool("key", "identity").expectSuccess().text == key)
        }
    }

    @Test(arguments: [false, true])
    func aCloneOfDamagedBatchesNamesThem(_ isTruncated: Bool) async throws {
        try await withStore { scene, shared in
            let folder = scene.folder.path("shared")
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
                .filter { $0.hasSuffix(".synb") }
            try #require(!names.isEmpty)
            for name in names {
                let url = URL(fileURLWithPath: folder + "/" + name)
                var bytes = try Data(contentsOf: url)
                if isTruncated { bytes.removeLast(9) } else { bytes[bytes.count - 5] ^= 1 }
                try bytes.write(to: url)
            }
            try await scene.sql("c.db", "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
            try await scene.tool("track", "c.db").expectSuccess()
            for output in [
                try await scene.tool("clone", shared, "b.db"),
                try await scene.tool("remote", "add", "c.db", "o", shared, "--join", "by-key"),
            ] {
                expect(output, 65, "no snapshot to start from", "synctool sync")
                for name in names { #expect(output.errors.contains(name), "\(output.errors)") }
            }
            #expect(!FileManager.default.fileExists(atPath: scene.folder.path("b.db")))
        }
    }
}

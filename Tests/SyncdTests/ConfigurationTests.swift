import Foundation
import SyncCore
import SyncTesting
import Testing

@testable import syncd

@Suite(.timeLimit(.minutes(3))) struct ConfigurationTests {
    private let directory: TemporaryFolder

    init() throws { directory = try TemporaryFolder() }

    private func read(_ text: String, stores: [String: String] = [:]) throws -> Configuration {
        try text.write(
            toFile: directory.file("syncd.yaml"), atomically: true, encoding: .utf8)
        let folder = directory.file("stores.d")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        for (name, text) in stores {
            try text.write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
        }
        var configuration = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
        try ConfigurationReader.read(
            into: &configuration, file: directory.file("syncd.yaml"), isRequired: true,
            storesDirectory: folder)
        return configuration
    }

    @Test func remotesOfAStoreAreRead() throws {
        let configuration = try read(
            """
            stores:
              - path: /srv/a.db
                remotes:
                  - {name: origin, url: "dir:/srv/shared", encrypted: true}
                  - name: laptop
                    url: ssh://alice@laptop/home/alice/a.db
                    synctool: /opt/bin/synctool
              - /srv/b.db
            """)
        let remotes = try #require(configuration.remotesByPath["/srv/a.db"])
        #expect(remotes.map(\.name) == ["origin", "laptop"])
        #expect(remotes.map(\.isEncrypted) == [true, false])
        #expect(remotes.map(\.options.synctool) == [nil, "/opt/bin/synctool"])
        #expect(configuration.remotesByPath.count == 1)
    }

    @Test(arguments: [
        ("{name: origin}", "a remote needs a name and a url"),
        (
            "{name: o, url: /srv/x}",
            "'/srv/x' is not a remote address. For a folder, use: dir:/srv/x"
        ),
        ("{name: a b, url: 'dir:/x'}", "is not a valid name"),
        ("{name: o, url: 'dir:/x', key: y}", "unknown key 'key'"),
        ("{name: o, url: 'dir:/x'}, {name: o, url: 'dir:/y'}", "there are two remotes 'o'"),
    ])
    func wrongRemotesAreFaults(_ remotes: String, reason: String) throws {
        do {
            _ = try read("stores: [{path: /srv/a.db, remotes: [\(remotes)]}]")
            Issue.record("it was read")
        } catch let fault as ConfigurationFault {
            #expect(fault.reason.contains(reason), "\(fault)")
        }
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try read(
            """
            socket: /run/x.sock
            socketMode: 0600
            state: /var/lib/x
            log: debug
            connections: 10
            queuedBytes: 65536
            purge: {age: 30d, size: 2GB}
            compare: 12h
            stores:
              - /srv/plain.db
              - path: /srv/music.db
                track: true
                entities: [Album, Artist]
                undo: ["*"]
                keep: none
                purge: {age: 90m}
            """,
            stores: [
                "b.yaml": "stores: [/srv/b.db]", "a.yaml": "stores: [/srv/a.db]", "x.txt": "?",
            ])
        #expect(configuration.socket == "/run/x.sock")
        #expect(configuration.compareInterval == .seconds(43_200))
        #expect(configuration.socketMode == 0o600)
        #expect(configuration.stateDirectory == "/var/lib/x")
        #expect(configuration.logLevel == .debug)
        #expect(configuration.connectionsMax == 10)
        #expect(configuration.queuedBytesMax == 65536)
        #expect(
            configuration.stores.map(\.path) == [
                "/srv/plain.db", "/srv/music.db", "/srv/a.db", "/srv/b.db",
            ])
        let music = configuration.stores[1]
        #expect(music.track && music.keepsValues == false)
        #expect(music.entities == ["Album", "Artist"] && music.undo == ["*"])
        #expect(music.limits == HistoryLimits(age: .seconds(5400)))
        #expect(
            configuration.limits == HistoryLimits(age: .seconds(30 * 86_400), bytes: 2_000_000_000))
    }

    @Test func anEmptyFileChangesNothing() throws {
        let defaults = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
        #expect(try read("") == defaults)
        #expect(try read("# nothing but a comment\n") == defaults)
    }

    @Test(arguments: [
        ("log: info\nsokcet: /x", 2, "unknown key 'sokcet'"),
        ("connections: many", 1, "a number from 1"),
        ("connections: 0", 1, "a number from 1"),
        ("socket: relative.sock", 1, "absolute path"),
        ("socketMode: rw", 1, "file mode"),
        ("log: loud", 1, "one of trace"),
        ("stores: /srv/a.db", 1, "a list"),
        ("stores:\n  - track: true", 2, "a store needs a path"),
        ("stores:\n  - path: /a\n    trak: true", 3, "unknown key 'trak'"),
        ("stores:\n  - path: /a\n    track: maybe", 3, "true or false"),
        ("stores:\n  - path: /a\n    keep: some", 3, "one of all, none"),
        ("- a\n- b", 1, "keys and values"),
        ("log: [info", 2, "not YAML"),
        ("log: info\nlog: debug", 2, "duplicate key"),
    ])
    func faultsNameFileAndLine(text: String, line: Int, reason: String) throws {
        do {
            _ = try read(text)
            Issue.record("no fault: \(text)")
        } catch let fault as ConfigurationFault {
            #expect(fault.description.contains("/syncd.yaml:"), "\(fault)")
            #expect(fault.reason.contains(reason), "\(fault)")
            // An unclosed list is found where the text ends.
            #expect(
                fault.line == line || reason == "not YAML" || reason == "duplicate key", "\(fault)")
        }
    }

    @Test func aNamedFileHasToBeThere() {
        var configuration = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
        #expect(throws: ConfigurationFault.self) {
            try ConfigurationReader.read(
                into: &configuration, file: "/nonexistent/syncd.yaml", isRequired: true,
                storesDirectory: "/nonexistent")
        }
        #expect(throws: Never.self) {
            try ConfigurationReader.read(
                into: &configuration, file: "/nonexistent/syncd.yaml", isRequired: false,
                storesDirectory: "/nonexistent")
        }
    }

    @Test(arguments: ["/dev/null", "/dev"])
    func whatIsNoFileIsSaidToBeNone(_ path: String) {
        var configuration = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
        let fault = #expect(throws: ConfigurationFault.self) {
            try ConfigurationReader.read(
                into: &configuration, file: path, isRequired: true,
                storesDirectory: "/nonexistent")
        }
        #expect(fault?.reason.contains("not a regular file") == true, "\(fault as Any)")
    }

    @Test func aUsersDaemonLivesBelowItsXDGFolders() {
        let paths = ConfigurationPaths(isSystem: false) { name in
            ["HOME": "/home/a", "XDG_RUNTIME_DIR": "/run/user/7"][name]
        }
        #expect(paths.file == "/home/a/.config/syncd/syncd.yaml")
        #expect(paths.socket == "/run/user/7/syncd/syncd.sock")
        #expect(paths.stateDirectory == "/home/a/.local/state/syncd")
    }

    @Test func theProgramEndsWith78AndNamesTheLine() throws {
        let file = directory.file("wrong.yaml")
        try "log: info\nstroes: []\n".write(toFile: file, atomically: true, encoding: .utf8)
        let ended = try run(Programs.syncd.path, ["--user", "--config", file])
        #expect(ended.status == 78)
        #expect(ended.errors.contains("\(file):2: unknown key 'stroes'"))
        let missing = try run(Programs.syncd.path, ["--user", "--config", file + ".missing"])
        #expect(missing.status == 78)
        #expect(missing.errors.contains("there is no such file"))
    }
}

import Foundation
import SyncTesting
import Testing

@testable import syncd

/// docs/configuration.md, the reader and `synctool config` know the same options.
@Suite(.timeLimit(.minutes(3))) struct ConfigurationPageTests {
    private let defaults = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })

    @Test func thePageListsEachOptionWithItsDefault() throws {
        let page = try String(
            contentsOf: Programs.root.appendingPathComponent("docs/configuration.md"),
            encoding: .utf8)
        let rows = page.matches(of: /\n\| `([a-zA-Z.\[\]]+)`(?: ¹)? \| ([^|]+) \|([^|]*)\|/)
        #expect(rows.map { String($0.1) } == ConfigurationKey.all.map(\.name))
        for (row, key) in zip(rows, ConfigurationKey.all) {
            #expect(String(row.2) == key.type, "\(key.name)")
            guard let value = key.value else { continue }
            #expect(row.3.trimmingCharacters(in: .whitespaces) == "`\(value(defaults))`")
        }
    }

    /// What `synctool config` shows can be written into a file, and is read as the same.
    @Test func everyOptionIsReadFromTheTextThatIsShown() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("syncd.yaml")
        for key in ConfigurationKey.all {
            guard let value = key.value?(defaults), !["never", "none"].contains(value) else {
                continue
            }
            let words = key.name.split(separator: ".")
            let text = words.dropLast().reversed().reduce("{\(words.last ?? ""): '\(value)'}") {
                "{\($1): \($0)}"
            }
            // Quoted, it is text: what has to be a number or a truth value is written plainly.
            for form in [text, text.replacing("'", with: "")] {
                try form.write(toFile: file, atomically: true, encoding: .utf8)
                var read = Configuration(ConfigurationPaths(isSystem: true) { _ in nil })
                do {
                    try ConfigurationReader.read(
                        into: &read, file: file, isRequired: true, storesDirectory: "/nonexistent")
                } catch {
                    if form == text { continue }
                    throw error
                }
                #expect(key.value?(read) == value, "\(form)")
                #expect(read.sources[key.name] == "\(file):1", "\(form)")
            }
        }
        for key in ConfigurationKey.names(below: "") {
            try "\(key)x: 1".write(toFile: file, atomically: true, encoding: .utf8)
            var read = defaults
            do {
                try ConfigurationReader.read(
                    into: &read, file: file, isRequired: true, storesDirectory: "/nonexistent")
                Issue.record("\(key)x was read")
            } catch let fault as ConfigurationFault {
                #expect(fault.reason.contains("did you mean '\(key)'?"), "\(fault)")
            }
        }
    }

    @Test(arguments: [
        ("log: inof", "not 'inof'; did you mean 'info'?"),
        ("stroes: []", "unknown key 'stroes'; did you mean 'stores'? known keys: socket"),
        ("workers: {memory: 10MB}", "the key 'memory' needs 256MB or more, not '10MB'"),
        ("metrics: {listen: '0.0.0.0:80'}", "not '0.0.0.0:80'"),
        ("metrics: {stores: al}", "did you mean 'all'?"),
        ("sync: {intervalSeconds: 0}", "needs a number from 1 to 86400, not '0'"),
        ("xyzzy: 1", "unknown key 'xyzzy'; known keys:"),
    ])
    func faultsQuoteTheValueAndNameTheNearest(_ text: String, _ words: String) throws {
        let folder = try TemporaryFolder()
        let file = folder.file("syncd.yaml")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        var read = defaults
        do {
            try ConfigurationReader.read(
                into: &read, file: file, isRequired: true, storesDirectory: "/nonexistent")
            Issue.record("it was read: \(text)")
        } catch let fault as ConfigurationFault {
            #expect(fault.reason.contains(words), "\(fault)")
        }
    }

    // MARK: What --check-config finds

    @Test func storesAreLookedAt() throws {
        let folder = try TemporaryFolder()
        for name in ["good", "plain", "tables"] {
            try sqlite3(
                folder.file(name + ".db"), "CREATE TABLE Album(id INTEGER PRIMARY KEY, t TEXT)")
        }
        for name in ["good", "tables"] {
            let ended = try run(
                Programs.synctool.path, ["track", folder.file(name + ".db"), "--direct"])
            #expect(ended.status == 0, "\(ended.errors)")
        }
        try "no database, but text that is long enough to have a header of one".write(
            toFile: folder.file("text.db"), atomically: true, encoding: .utf8)
        let file = folder.file("syncd.yaml")
        try """
        stores:
          - \(folder.file("good.db"))
          - \(folder.file("gone.db"))
          - \(folder.file("text.db"))
          - \(folder.file("plain.db"))
          - {path: \(folder.file("tables.db")), entities: [album, Albun], undo: [Xyzzy]}
          - \(folder.file("good.db"))
        """.write(toFile: file, atomically: true, encoding: .utf8)
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.file("good.db")))
        let ended = try check(file, in: folder)
        #expect(ended.status == 1, "\(ended)")
        let lines = ended.errors.split(separator: "\n").map(String.init)
        for (line, name, words) in [
            (3, "gone", "no such file"), (4, "text", "not an SQLite database"),
            (5, "plain", "not tracked. Track it: synctool track"),
            (6, "tables", "there is no table 'Albun'. Did you mean 'Album'?"),
            (6, "tables", "there is no table 'Xyzzy'. The tables are: Album"),
            (7, "good", "named twice, here and at \(file):2"),
        ] {
            let start = "syncd: \(file):\(line): \(folder.file(name + ".db"))"
            #expect(
                lines.contains { $0.hasPrefix(start) && $0.contains(words) },
                "\(start) … \(words) in: \(ended.errors)")
        }
        #expect(lines.count == 7 && lines.last?.contains("would start") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("good.db"))) == before)
    }

    /// What keeps the daemon from starting, with the status with which it would end.
    @Test(arguments: [
        ("state: /proc/state", 78), ("state: FOLDER/text/state", 78),
        ("socket: /tmp/" + String(repeating: "x", count: 120), 78),
        ("socket: FOLDER/none/none/s.sock", 78),
        ("metrics: {socket: FOLDER/none/m.sock}", 78), ("metrics: {socket: FOLDER/m.sock}", 0),
    ])
    func placesAreLookedAt(_ line: String, status: Int32) throws {
        let folder = try TemporaryFolder()
        try "".write(toFile: folder.file("text"), atomically: true, encoding: .utf8)
        let file = folder.file("syncd.yaml")
        try line.replacing("FOLDER", with: folder.file("")).write(
            toFile: file, atomically: true, encoding: .utf8)
        let names = line.hasPrefix("state") ? ["socket"] : line.hasPrefix("socket") ? ["state"] : []
        let ended = try check(
            file, in: folder, giving: names.isEmpty ? ["state", "socket"] : names)
        #expect(ended.status == status, "\(ended)")
    }

    @Test func aFileThatIsNotReadIsNamed() throws {
        let folder = try TemporaryFolder()
        mkdir(folder.file("stores.d"), 0o755)
        for name in ["a.yml", ".hidden", "b.yaml~"] {
            try "".write(
                toFile: folder.file("stores.d/" + name), atomically: true, encoding: .utf8)
        }
        let file = folder.file("syncd.yaml")
        try "".write(toFile: file, atomically: true, encoding: .utf8)
        let ended = try check(file, in: folder)
        #expect(ended.status == 1 && ended.errors.contains("stores.d/a.yml: not read"), "\(ended)")
        #expect(ended.errors.split(separator: "\n").count == 2, "\(ended)")
    }

    private func check(
        _ file: String, in folder: TemporaryFolder, giving names: [String] = ["state", "socket"]
    ) throws -> Ended {
        try run(
            Programs.syncd.path,
            ["--user", "--check-config", "--config", file]
                + names.flatMap { ["--" + $0, folder.file($0)] })
    }

    // MARK: What the running daemon says

    @Test func theRunningDaemonSaysWhereEachOptionWasSet() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("syncd.yaml")
        try "sync:\n  intervalSeconds: 7\npurge: {age: 30d}\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        let daemon = try await TestDaemon(in: folder)
        let settings = try await daemon.client.configuration()
        func find(_ name: String) -> String? {
            settings.first { $0.name == name }.map { "\($0.value) \($0.source ?? "default")" }
        }
        #expect(find("sync.intervalSeconds") == "7 \(file):2")
        #expect(find("purge.age") == "30d \(file):3")
        #expect(find("socket") == "\(daemon.socket) --socket")
        #expect(find("connections") == "4096 default")
        let shown = try run(
            Programs.synctool.path, ["config", "--changed"],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(shown.output.contains("sync.intervalSeconds  7"), "\(shown.output)")
        #expect(!shown.output.contains("default"))
        // A reload is seen.
        try "stores: [\(folder.file("x.db"))]\nconnections: 7\npurge: {age: 40d}\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        try await eventually("the new configuration is shown") {
            try await daemon.client.configuration().contains {
                $0.name == "stores[\(folder.file("x.db"))]" && $0.source == "\(file):1"
            }
        }
        // What needs a restart is as it runs.
        let present = try await daemon.client.configuration()
        #expect(present.first { $0.name == "purge.age" }?.value == "40d")
        let connections = present.first { $0.name == "connections" }
        #expect(connections?.value == "4096" && connections?.source == nil)
        // It is said a moment later.
        try await daemon.logs("in effect after a restart: connections")
    }

    /// For monitoring, silence is an answer.
    @Test func aDaemonThatHangsIsUnknown() async throws {
        let daemon = try await TestDaemon()
        daemon.signal(SIGSTOP)
        defer { daemon.signal(SIGCONT) }
        let ended = try run(
            Programs.synctool.path, ["status", "--check"],
            environment: ["SYNCD_SOCKET": daemon.socket])
        #expect(ended.status == 3 && ended.output.contains("did not answer"), "\(ended)")
    }
}

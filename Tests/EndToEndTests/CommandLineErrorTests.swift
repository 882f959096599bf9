import Foundation
import Testing

/// What a person does wrong at the command line: the status, and a message that names the file as
/// it was typed, says why, and what to run next.
@Suite("Bad input at the command line", .timeLimit(.minutes(3)))
struct CommandLineErrorTests {
    /// A command fails with a status, names what the user typed, and says the words.
    private func expect(
        _ output: Child.Output, _ status: Int32, _ words: String...,
        location: SourceLocation = #_sourceLocation
    ) {
        #expect(output.status == status, "\(output.errors)", sourceLocation: location)
        #expect(output.text.isEmpty, "an error goes to stderr alone", sourceLocation: location)
        #expect(output.errors.hasPrefix("synctool "), sourceLocation: location)
        for word in words {
            #expect(
                output.errors.contains(word), "'\(word)' is missing in: \(output.errors)",
                sourceLocation: location)
        }
    }

    @Test func notADatabase() async throws {
        try await Scene.with { scene in
            try Data("not a database, but long enough to look at".utf8)
                .write(to: scene.folder.url.appendingPathComponent("notes.txt"))
            expect(try await scene.tool("track", "notes.txt"), 65, "notes.txt", "not")
            expect(try await scene.tool("history", "notes.txt"), 65, "notes.txt")
            expect(try await scene.tool("doctor", "notes.txt"), 65, "notes.txt")
        }
    }

    /// Such a name cannot be shown, nor sent to the daemon: it is not a file that is missing.
    @Test func aPathThatIsNotUTF8IsNamed() async throws {
        try await Scene.with { scene in
            let folder = scene.folder.path("")
            let script = """
                cd '\(folder)' && name=$(printf 'caf\\351') && mkdir "$name" && cd "$name" &&
                '\(Binaries.synctool)' history music.db --direct; echo $?;
                '\(Binaries.synctool)' history "../$name.db" --direct; echo $?;
                '\(Binaries.synctool)' history "../$name.db" --direct --json; echo $?
                """
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = ["-c", script]
            let (output, errors) = (Pipe(), Pipe())
            (shell.standardOutput, shell.standardError) = (output, errors)
            try shell.run()
            let text = String(
                decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let statuses = String(
                decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            shell.waitUntilExit()
            #expect(statuses == "66\n64\n64\n", "\(text)")
            #expect(text.contains("the path of the working folder is not UTF-8"), "\(text)")
            #expect(text.contains("\u{FFFD}.db' is not UTF-8"), "\(text)")
            #expect(text.contains(#""error":"invalidArgument","status":64"#), "\(text)")
        }
    }

    @Test func namesDoNotControlTheTerminal() async throws {
        try await Scene.with { scene in
            let (name, copy) = ("x\u{1B}]0;title\u{7}.db", "y\u{1B}[31m.db")
            let folder = scene.folder.path("s\u{1B}[31m")
            mkdir(folder, 0o755)
            try await scene.sql(name, "CREATE TABLE t(id INTEGER PRIMARY KEY)")
            for arguments in [
                ["track", name], ["remote", "add", name, "o", "dir:" + folder], ["sync", name],
                ["clone", "dir:" + folder, copy], ["status", name, "--direct"],
                ["doctor", copy, "--direct"], ["show", name, "t/\u{1B}[31m"], ["sync", "\u{1B}c"],
            ] {
                let output = try await scene.run(arguments)
                let text = output.text + output.errors
                #expect(!text.isEmpty && !text.contains("\u{1B}"), "\(arguments)")
                #expect(!text.contains("\u{7}"), "\(arguments)")
            }
        }
    }

    @Test func doctorNamesAForeignKeyThatCannotBeChecked() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "a.db",
                """
                CREATE TABLE parent(id INTEGER PRIMARY KEY, code TEXT);
                CREATE TABLE child(id INTEGER PRIMARY KEY, code TEXT REFERENCES parent(code));
                CREATE TABLE other(id INTEGER PRIMARY KEY, parent INT REFERENCES parent);
                INSERT INTO parent VALUES (1, 'a'); INSERT INTO child VALUES (1, 'a');
                INSERT INTO other VALUES (1, 99);
                """)
            try await scene.tool("track", "a.db").expectSuccess()
            for arguments in [["doctor", "a.db"], ["doctor", "a.db", "--mend"]] {
                let output = try await scene.run(arguments)
                #expect(output.status == 1 && output.errors.isEmpty, "\(output.errors)")
                for words in [
                    "problem: child: the foreign key child(code) → parent(code)",
                    #"CREATE UNIQUE INDEX "parent_code" ON "parent"("code")"#,
                    "other: 1 row refers to rows that are not there",
                ] { #expect(output.text.contains(words), "\(output.text)") }
            }
            let index = #"CREATE UNIQUE INDEX "parent_code" ON "parent"("code")"#
            try await scene.tool("alter", "a.db", index).expectSuccess()
            try await scene.tool("doctor", "a.db").expectSuccess()
        }
    }

    /// The database is prepared for tables that are made later; the message names the way back.
    @Test func noTableCanBeTracked() async throws {
        try await Scene.with { scene in
            try await scene.sql("keyless.db", "CREATE TABLE note(text)")
            let before = try await scene.sql("keyless.db", ".schema")
            let output = try await scene.tool("track", "keyless.db")
            #expect(output.status == 1)
            #expect(output.errors.contains("no table of the database can be tracked"))
            #expect(output.errors.contains("to remove what was added: synctool untrack keyless.db"))
            try await scene.tool("untrack", "keyless.db").expectSuccess()
            #expect(try await scene.sql("keyless.db", ".schema") == before)
        }
    }

    @Test func encryptedDatabase() async throws {
        try await Scene.with { scene in
            let noise = Data((0..<16_384).map { _ in UInt8.random(in: 0...255) })
            try noise.write(to: scene.folder.url.appendingPathComponent("secret.db"))
            expect(try await scene.tool("track", "secret.db"), 65, "secret.db", "encrypted")
        }
    }

    @Test func damagedDatabase() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: scene.folder.path(music)))
            try handle.seek(toOffset: 100)
            try handle.write(contentsOf: Data(repeating: 0x5A, count: 3000))
            try handle.close()
            expect(try await scene.tool("track", music), 65, music)
        }
    }

    @Test func noSuchFile() async throws {
        try await Scene.with { scene in
            expect(try await scene.tool("track", "musik.db"), 66, "musik.db")
            expect(try await scene.tool("history", "musik.db"), 66, "musik.db")
            expect(try await scene.tool("watch", "musik.db"), 66, "musik.db")
            let made = FileManager.default.fileExists(atPath: scene.folder.path("musik.db"))
            #expect(!made, "asking for a file must not make it")
        }
    }

    @Test func aFolderInsteadOfAFile() async throws {
        try await Scene.with { scene in
            let output = try await scene.tool("track", ".")
            #expect([64, 65, 66].contains(output.status), "\(output.errors)")
            #expect(!output.errors.isEmpty)
        }
    }

    @Test func notTracked() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            expect(try await scene.tool("untrack", music), 1, music, "not tracked")
            for command in ["history", "watch", "consumers", "purge", "doctor"] {
                expect(
                    try await scene.tool(command, music), 1, music, "synctool track \(music)")
            }
        }
    }

    @Test func newerFormat() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            #expect(try await scene.tool("track", music).status == 0)
            try await scene.sql(music, "UPDATE syncd_meta SET value = 99 WHERE key = 'format'")
            for command in ["track", "history", "untrack"] {
                expect(try await scene.tool(command, music), 1, music, "newer")
            }
        }
    }

    @Test func tableWithoutKey() async throws {
        try await Scene.with { scene in
            try await scene.sql(
                "mixed.db", "CREATE TABLE a(id INTEGER PRIMARY KEY, t); CREATE TABLE loose(t)")
            let output = try await scene.tool("track", "mixed.db")
            #expect(output.status == 0)
            let line = output.lines.first { $0.contains("loose") } ?? ""
            #expect(line.contains("KEY"), "\(output.text)")
        }
    }

    @Test func unknownEntityAndObject() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            _ = try await scene.tool("track", music)
            expect(try await scene.tool("history", music, "--entity", "Albun"), 1, "Albun", "Album")
            expect(try await scene.tool("history", music, "--object", "Album"), 64, "ENTITY/KEY")
        }
    }

    @Test func wrongTokens() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            _ = try await scene.tool("track", music)
            expect(try await scene.tool("history", music, "--after", "x1"), 65, "x1", "token")
            try await scene.sql("other.db", "CREATE TABLE a(id INTEGER PRIMARY KEY, t)")
            _ = try await scene.tool("track", "other.db")
            try await scene.sql("other.db", "INSERT INTO a VALUES (1, 2)")
            let line = try await scene.tool("history", "other.db", "--json").lines.first ?? ""
            let token = try #require(Recorded(line: line)).token
            expect(
                try await scene.tool("history", music, "--after", token), 1, music,
                "belongs to store")
        }
    }

    @Test(arguments: [
        ["history"], ["historie", "x.db"], ["history", "x.db", "--since", "lately"],
        ["history", "x.db", "--kind", "drop"], ["history", "x.db", "--limit", "0"],
        ["watch", "x.db", "--direct", "--socket", "s"], ["status", "--direct"],
        ["consumers", "add", "x.db", "me", "--lease", "soon"],
    ])
    func wrongArguments(_ arguments: [String]) async throws {
        try await Scene.with { scene in
            let output = try await scene.run(arguments)
            #expect(output.status == 64, "\(output.errors)")
            #expect(output.errors.contains("Usage:") || output.errors.contains("synctool"))
        }
    }

    @Test func unreachableDaemon() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            let output = try await scene.tool("status", music, "--socket", "nobody.sock")
            expect(output, 69, "nobody.sock", "syncd")
            let long = String(repeating: "x", count: 200) + ".sock"
            expect(try await scene.tool("status", music, "--socket", long), 64, "107")
        }
    }

    @Test func unknownConsumer() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            _ = try await scene.tool("track", music)
            expect(try await scene.tool("consumers", "remove", music, "nobody"), 1, "nobody")
        }
    }

    @Test func readOnlyFileAndFolder() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            try await scene.tool("track", music).expectSuccess()
            try await scene.sql("plain.db", "CREATE TABLE a(id INTEGER PRIMARY KEY)")
            try scene.chmod("plain.db", 0o444)
            let user = try scene.otherUser()
            expect(try await scene.tool(asUser: user, "track", "plain.db"), 77, "plain.db")
            // A folder that the caller cannot write: SQLite could not make its journal.
            try scene.chmod("plain.db", 0o666)
            expect(try await scene.tool(asUser: user, "track", "plain.db"), 77, "plain.db")
        }
    }

    @Test func fileOfSomebodyElse() async throws {
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            try scene.chmod(music, 0o600)
            let user = try scene.otherUser()
            expect(try await scene.tool(asUser: user, "track", music), 77, music)
            expect(try await scene.tool(asUser: user, "history", music), 77, music)
        }
    }
}

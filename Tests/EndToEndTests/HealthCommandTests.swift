import Foundation
import SyncTesting
import Testing

/// `status`, `status --check` and `doctor`, as a person and as monitoring run them.
@Suite("Status and checks at the command line", .timeLimit(.minutes(5)))
struct HealthCommandTests {
    private func withStore(_ body: (Scene) async throws -> Void) async throws {
        try await Scene.with { scene in
            let daemon = try await scene.startDaemon()
            do {
                try await scene.sql(
                    "a.db", "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
                try await scene.tool("track", "a.db").expectSuccess()
                try await body(scene)
            } catch {
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
    }

    @Test func withoutProblemsTheStatusIsZero() async throws {
        try await withStore { scene in
            let check = try await scene.tool("status", "--check").expectSuccess()
            #expect(check.text.hasPrefix("syncd OK: 1 of 1 store open | stores=1 open=1 clients="))
            let json = try await scene.tool("status", "a.db", "--check", "--json").expectSuccess()
            #expect(json.text.contains(#""status":"ok","problems":[]"#), "\(json.text)")
            let other = try await scene.tool("status", "b.db", "--check")
            #expect(other.status == 2 && other.text.contains("synctool track b.db"), "\(other)")
        }
    }

    /// SQLite keeps a journal beside each name: opening another one damages the file.
    @Test func aFileWithSeveralNamesIsRefusedAndNamed() async throws {
        try await withStore { scene in
            let (file, other) = (scene.folder.path("a.db"), scene.folder.path("other.db"))
            try await scene.tool("doctor", "a.db").expectSuccess()
            #expect(link(file, other) == 0)
            let refused = try await scene.tool("track", "other.db")
            #expect(refused.status == 1, "\(refused)")
            #expect(refused.errors.contains("2 names (hard links)"), "\(refused)")
            #expect(refused.errors.contains("-samefile"), "\(refused)")
            let checkup = try await scene.tool("doctor", "a.db")
            #expect(checkup.status == 1 && checkup.text.contains("2 names"), "\(checkup)")
            let status = try await scene.tool("status", "a.db").expectSuccess()
            #expect(status.text.contains("2 names"), "\(status)")
            let check = try await scene.tool("status", "--check")
            #expect(check.status != 0 && check.text.contains("2 names"), "\(check)")
            unlink(other)
            try await scene.tool("doctor", "a.db").expectSuccess()
            try await scene.tool("status", "--check").expectSuccess()
        }
    }

    @Test func aMissingFileIsCritical() async throws {
        try await withStore { scene in
            let file = scene.folder.path("a.db")
            for ending in ["", "-wal", "-shm"] { unlink(file + ending) }
            let isNoticed = try await eventually(
                within: .seconds(25), every: .milliseconds(100)
            ) {
                try await scene.tool("status", "--check").status == 2
            }
            #expect(isNoticed)
            let check = try await scene.tool("status", "--check")
            #expect(check.text.contains("critical: \(file): the file is missing"), "\(check.text)")
            #expect(check.text.contains("synctool untrack --forget"))
            #expect(try await scene.tool("doctor").status == 1)
            let list = try await scene.tool("status").expectSuccess()
            #expect(list.text.contains("missing"))
        }
    }

    @Test func aRemoteThatFailsIsShownCheckedAndDiagnosed() async throws {
        try await withStore { scene in
            let folder = scene.folder.path("shared")
            mkdir(folder, 0o755)
            try await scene.tool("remote", "add", "a.db", "origin", "dir:" + folder)
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            let isSynced = try await eventually(within: .seconds(25), every: .milliseconds(100)) {
                try await scene.tool("status").text.contains("last synced")
            }
            #expect(isSynced)
            rename(folder, folder + "-gone")
            // One after the other: commits that follow each other at once may be one transaction.
            for count in ["1 transaction unsent", "2 transactions unsent"] {
                try await scene.sql("a.db", "INSERT INTO note(body) VALUES ('\(count)')")
                let isNoticed = try await eventually(
                    within: .seconds(25), every: .milliseconds(100)
                ) {
                    let check = try await scene.tool("status", "--check")
                    return check.status == 1 && check.text.contains(count)
                }
                #expect(isNoticed, "\(count)")
            }
            let check = try await scene.tool("status", "--check")
            #expect(check.text.contains("remote origin has failed for"), "\(check.text)")
            #expect(check.text.contains("synctool sync"))
            #expect(try await scene.tool("doctor").status == 1)
            let doctor = try await scene.tool("doctor", "a.db")
            #expect(doctor.status == 1 && doctor.text.contains("remote origin"), "\(doctor.text)")
            #expect(doctor.text.contains("Mount it, then try again"), "\(doctor.text)")
            #expect(try await scene.tool("status").text.contains("2 transactions unsent"))
            // It has failed for longer than that.
            let isLong = try await eventually(within: .seconds(25), every: .milliseconds(100)) {
                try await scene.tool("status", "--check", "--max-lag", "1s").status == 2
            }
            #expect(isLong)
        }
    }

    @Test func aDaemonThatHangsIsNamed() async throws {
        try await Scene.with { scene in
            let daemon = try await scene.startDaemon()
            try await scene.sql("a.db", "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
            try await scene.tool("track", "a.db").expectSuccess()
            kill(daemon.pid, SIGSTOP)
            defer { kill(daemon.pid, SIGCONT) }
            async let status = scene.tool("status", "a.db")
            async let check = scene.tool("status", "--check")
            async let history = scene.tool("history", "a.db", "--socket", scene.socket)
            async let direct = scene.tool("status", "a.db", "--direct")
            async let top = scene.tool("top", "--once")
            async let page = scene.tool("ui")
            mkdir(scene.folder.path("shared"), 0o755)
            async let remote = scene.tool(
                "remote", "add", "a.db", "origin", "dir:" + scene.folder.path("shared"))
            for output in try await [top, page] {
                #expect(output.status == 69, "\(output)")
                #expect(output.errors.contains("did not answer within 15 s"), "\(output)")
            }
            let added = try await remote
            #expect(added.status == 0, "\(added)")
            #expect(
                added.errors.contains("whether the daemon uses this remote is not known"),
                "\(added)")
            let outputs = try await (status, check, history, direct)
            #expect(outputs.0.status == 69, "\(outputs.0)")
            #expect(outputs.0.errors.contains("did not answer within 15 s"), "\(outputs.0)")
            #expect(outputs.0.errors.contains("--direct"), "\(outputs.0)")
            #expect(outputs.1.status == 3, "\(outputs.1)")
            #expect(outputs.2.status == 69 && !outputs.2.errors.contains("--direct"))
            #expect(outputs.3.status == 0, "\(outputs.3)")
        }
    }

    @Test func withoutADaemonItIsUnknown() async throws {
        try await Scene.with { scene in
            let check = try await scene.tool("status", "--check")
            #expect(check.status == 3, "\(check.errors)")
            #expect(check.text.hasPrefix("syncd UNKNOWN: 1 problem; not asked\nunknown: "))
            #expect(try await scene.tool("status", "--check", "--direct").status == 64)
        }
    }
}

import Foundation
import SyncTesting
import Testing
import Varlink

/// The page of `synctool ui` in a real browser, and what it refuses.
@Suite("The page", .serialized, .timeLimit(.minutes(15)))
struct PageTests {
    private static let database = "music.db"

    private static func script(_ name: String) -> String {
        Binaries.root.appendingPathComponent("scripts/" + name).path
    }

    /// Starts the page and waits for its address.
    private func startPage(_ scene: Scene) async throws -> (page: Child, address: String) {
        let page = try scene.start(Binaries.synctool, "ui")
        let isThere = await eventually(within: .seconds(60), every: .milliseconds(20)) {
            page.text.hasSuffix("\n") || !page.isRunning
        }
        try #require(isThere && page.isRunning, "synctool ui: \(page.errors)")
        return (page, page.text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// Runs a body with a daemon and a page; both are ended after it.
    private func withPage(
        _ scene: Scene, _ body: (Child, String) async throws -> Void
    ) async throws {
        let daemon = try await scene.startDaemon()
        do {
            _ = try await scene.makeMusic()
            try await scene.sql(Self.database, "PRAGMA journal_mode = WAL")
            try await scene.tool("track", Self.database, "--undo", "*").expectSuccess()
            let (page, address) = try await startPage(scene)
            do {
                try await body(page, address)
            } catch {
                await page.stop()
                throw error
            }
            await page.stop()
        } catch {
            await daemon.stop()
            throw error
        }
        await daemon.stop()
    }

    /// Two replicas give `Album/1` another title each.
    private func makeConflict(_ scene: Scene) async throws {
        try FileManager.default.createDirectory(
            atPath: scene.folder.path("shared"), withIntermediateDirectories: false)
        let remote = "dir:\(scene.folder.path("shared"))"
        try await scene.run(["remote", "add", Self.database, "origin", remote]).expectSuccess()
        try await scene.run(["sync", Self.database]).expectSuccess()
        try await scene.run(["clone", remote, "other.db"]).expectSuccess()
        for (database, title) in [(Self.database, "Load"), ("other.db", "Reload")] {
            try await scene.sql(database, "UPDATE Album SET Title = '\(title)' WHERE AlbumId = 1")
        }
        for database in [Self.database, "other.db", Self.database] {
            try await scene.run(["sync", database]).expectSuccess()
        }
        let open = try await scene.tool("conflicts", Self.database).expectSuccess().lines
        try #require(open.count == 1, "\(open)")
    }

    @Test func showsAndResolves_whileThreeProcessesWrite() async throws {
        try requireBrowser()
        try await Scene.with { scene in
            try await withPage(scene) { _, address in
                try await makeConflict(scene)
                try await scene.tool("consumers", "add", Self.database, "indexer").expectSuccess()
                let clicks = try await scene.start(
                    Binaries.plainPython, Self.script("page_clicks.py"), address,
                    scene.folder.path(Self.database)
                ).output(within: .seconds(600))
                #expect(clicks.status == 0, "\(clicks.errors)")
                print(clicks.text)
                // Nobody looks any more: the daemon sends nothing.
                let isAlone = try await eventually(within: .seconds(60), every: .milliseconds(200))
                {
                    try await subscribers(scene) == 0
                }
                #expect(isAlone, "a subscription outlives the browser")
            }
        }
    }

    @Test func costsNothingWhenNobodyLooks() async throws {
        try await Scene.with { scene in
            try await withPage(scene) { page, _ in
                #expect(try await subscribers(scene) == 0)
                let before = try ticks(of: page)
                for number in 1...20 {
                    try await scene.sql(
                        Self.database, "UPDATE Album SET Title = '\(number)' WHERE AlbumId = 2")
                }
                // One tick: what it does just after it has printed its address.
                #expect(try ticks(of: page) <= before + 1, "it works though nobody looks")
            }
        }
    }

    @Test func refusesWhoeverIsNotThePage() async throws {
        try await Scene.with { scene in
            try await scene.sql("foreign.db", "CREATE TABLE a(b INTEGER PRIMARY KEY)")
            try await scene.tool("track", "foreign.db", "--direct").expectSuccess()
            try await withPage(scene) { page, address in
                let attacks = try await scene.start(
                    Binaries.plainPython, Self.script("page_attacks.py"), address,
                    scene.folder.path("foreign.db")
                ).output(within: .seconds(300))
                #expect(attacks.status == 0, "\(attacks.errors)")
                #expect(page.isRunning)
            }
        }
    }

    @Test func saysWhenThereIsNoDaemon() async throws {
        try await Scene.with { scene in
            let page = try await scene.tool("ui")
            #expect(page.status == 69)
            #expect(page.text.isEmpty)
        }
    }

    // MARK: -

    /// `make setup-tests` installs one. Without it the test is cancelled, and fails where `CI` is
    /// set.
    private func requireBrowser() throws {
        let isThere = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
            .contains { FileManager.default.isExecutableFile(atPath: $0) }
        let reason = "there is no 'chromium': the page was not clicked through (make setup-tests)"
        if ProcessInfo.processInfo.environment["CI"] != nil {
            try #require(isThere, "\(reason)")
        } else if !isThere {
            try Test.cancel("\(reason)")
        }
    }

    private func subscribers(_ scene: Scene) async throws -> Int64? {
        let text = try await scene.tool("status", Self.database, "--json").expectSuccess().text
        return try JSONParser.parse(text)["store"]?["subscribers"]?.integer
    }

    /// The time of a process on processors so far, in clock ticks: proc(5), fields 14 and 15.
    private func ticks(of process: Child) throws -> Int {
        let line = try String(contentsOfFile: "/proc/\(process.pid)/stat", encoding: .utf8)
        let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
        return (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
}

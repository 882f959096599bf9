import Foundation
import SyncTesting
import Testing
import Varlink

/// Two copies of a database, edited apart by a thousand foreign transactions each, brought together
/// by the real commands: through a folder, and through a real sshd.
@Suite("Two copies, end to end", .serialized, .timeLimit(.minutes(10)))
struct TwoCopiesTests {
    private static let editsEach = 1000

    enum Road: String, CaseIterable {
        case ssh, folder
    }

    @Test(arguments: Road.allCases)
    func copiesThatWereEditedApartBecomeEqual_andConflictsAreTurnedRound(
        road: Road
    ) async throws {
        let seed = TestSeed.drawn().value
        try await Scene.with { scene in
            let copies = try await Copies.make(scene, road)
            do {
                try await play(scene, copies, seed)
            } catch {
                await copies.server?.stop()
                throw error
            }
            await copies.server?.stop()
        }
    }

    private func play(_ scene: Scene, _ copies: Copies, _ seed: UInt64) async throws {
        for (name, salt) in [("a.db", 1), ("b.db", 2)] {
            let edits = Edits(name: name, seed: seed &* 3 &+ UInt64(salt))
            try await scene.sql(name, edits.script(Self.editsEach))
        }
        try await copies.meet(scene)
        try await expectEqual(scene, "SYNCD_SEED=\(seed)")
        let open = try await conflicts(scene, "a.db")
        #expect(open.count >= 5, "SYNCD_SEED=\(seed): \(open.count) conflicts")
        #expect(
            Set(open.map(\.object)) == Set(try await conflicts(scene, "b.db").map(\.object)),
            "the open conflicts are the same on both, SYNCD_SEED=\(seed)")

        let turned = open.filter {
            $0.reason == "lost" && $0.entity == "Track" && !$0.losing.isEmpty
        }.prefix(5)
        try #require(turned.count == 5, "SYNCD_SEED=\(seed)")
        for conflict in turned {
            try await scene.tool("conflicts", "resolve", "a.db", "\(conflict.id)").expectSuccess()
        }
        try await copies.meet(scene)
        try await expectEqual(scene, "after the resolution, SYNCD_SEED=\(seed)")
        #expect(try await conflicts(scene, "b.db").count == open.count - 5, "SYNCD_SEED=\(seed)")
        for conflict in turned {
            let key = conflict.object.dropFirst("Track/".count)
            let now = try await scene.sql(
                "b.db", "SELECT \(conflict.property) FROM Track WHERE TrackId = \(key)")
            #expect(now == conflict.losing + "\n", "SYNCD_SEED=\(seed)")
        }
        try await copies.meet(scene, movesNothing: true)
    }

    private struct Conflict {
        let id: Int64
        let object: String
        let entity: String
        let reason: String
        let property: String
        let losing: String
    }

    private func conflicts(_ scene: Scene, _ name: String) async throws -> [Conflict] {
        let text = try await scene.tool("conflicts", name, "--json").expectSuccess().text
        return try text.split(separator: "\n").map { line in
            let value = try JSONParser.parse(String(line))
            let property = value["properties"]?.array?.first?.string ?? ""
            return Conflict(
                id: value["id"]?.integer ?? 0, object: value["object"]?.string ?? "",
                entity: value["entity"]?.string ?? "", reason: value["reason"]?.string ?? "",
                property: property,
                losing: value["losing"]?["values"]?[property]?.string ?? "")
        }
    }

    /// Equal but for the numbers that are each replica's own; and sound.
    private func expectEqual(_ scene: Scene, _ comment: Comment) async throws {
        var texts: [String] = []
        for name in ["a.db", "b.db"] {
            texts.append(try await scene.sql(name, Edits.canonical))
            #expect(try await scene.sql(name, "PRAGMA foreign_key_check") == "", comment)
            #expect(try await scene.sql(name, "PRAGMA integrity_check") == "ok\n", comment)
        }
        let (a, b) = (texts[0].split(separator: "\n"), texts[1].split(separator: "\n"))
        let only = Set(a).symmetricDifference(b).sorted().prefix(6)
        #expect(a == b, "\(comment): \(Array(only))")
        #expect(a.count > 300, comment)
    }
}

/// Two replicas, and how they meet.
struct Copies {
    let road: TwoCopiesTests.Road
    let server: SSHServer?

    /// `a.db` and its clone `b.db`. Cancels the test where this kind of remote cannot be used.
    static func make(_ scene: Scene, _ road: TwoCopiesTests.Road) async throws -> Copies {
        let music = try await scene.makeMusic()
        try FileManager.default.moveItem(
            atPath: scene.folder.path(music), toPath: scene.folder.path("a.db"))
        try await scene.sql(
            "a.db",
            """
            INSERT INTO Artist VALUES (9000, 'to be deleted');
            INSERT INTO Album VALUES (9000, 'to be edited', 9000);
            """)
        try await scene.tool("track", "a.db").expectSuccess()
        switch road {
        case .folder:
            let shared = scene.folder.path("shared")
            try FileManager.default.createDirectory(
                atPath: shared, withIntermediateDirectories: false)
            try await scene.tool("remote", "add", "a.db", "origin", "dir:" + shared)
                .expectSuccess()
            try await scene.tool("push", "a.db").expectSuccess()
            try await scene.tool("clone", "dir:" + shared, "b.db").expectSuccess()
            return Copies(road: road, server: nil)
        case .ssh:
            let server = try await SSHServer.start(scene)
            try await scene.run(
                [
                    "clone", server.url(scene.folder.path("a.db")), "b.db", "--synctool",
                    Binaries.synctool,
                ], through: server
            ).expectSuccess()
            return Copies(road: road, server: server)
        }
    }

    func meet(_ scene: Scene, movesNothing: Bool = false) async throws {
        var order = ["b.db"]
        if server == nil { order = ["a.db", "b.db", "a.db"] }
        for name in order {
            let output = try await scene.run(["sync", name, "--json"], through: server)
                .expectSuccess()
            let line = try JSONParser.parse(output.lines[0])
            #expect(line["remote"]?.string == "origin")
            if movesNothing {
                #expect(line["pushed"]?.integer == 0 && line["pulled"]?.integer == 0)
            }
        }
    }
}

extension Scene {
    /// Runs `synctool`, with a server's ssh where there is one.
    @discardableResult
    func run(_ arguments: [String], through server: SSHServer?) async throws -> Child.Output {
        var environment = environment
        environment["SYNCD_SSH"] = server?.client
        return try await Child(
            Binaries.synctool, arguments, in: folder, environment: environment
        ).output(within: .seconds(120))
    }
}

/// Random edits by the sqlite3 shell, each a transaction.
private struct Edits {
    let name: String
    let seed: UInt64

    func script(_ count: Int) -> String {
        var random = SeededRandom(seed: seed)
        let tag = String(name.prefix(1))
        var lines = ["PRAGMA foreign_keys = ON;", "PRAGMA synchronous = OFF;"]
        // Both insert the same number, and the same playlist track.
        lines.append("INSERT INTO Album VALUES (9001, 'by \(tag)', 1);")
        lines.append(
            "INSERT OR IGNORE INTO PlaylistTrack VALUES (1, (SELECT max(TrackId) FROM Track WHERE TrackId <= 300));"
        )
        // One deletes an artist with an album that the other edits.
        lines.append(
            tag == "a"
                ? "DELETE FROM Album WHERE AlbumId = 9000; DELETE FROM Artist WHERE ArtistId = 9000;"
                : "UPDATE Album SET Title = 'edited' WHERE AlbumId = 9000;")
        while lines.count < count {
            let track = Int.random(in: 1...200, using: &random)
            let number = lines.count
            switch Int.random(in: 0..<10, using: &random) {
            case 0: lines.append("INSERT INTO Artist(Name) VALUES ('artist \(tag)\(number)');")
            case 1:
                lines.append(
                    "INSERT INTO Album(Title, ArtistId) VALUES ('album \(tag)\(number)', \(1 + track % 50));"
                )
            case 2:
                lines.append("INSERT OR IGNORE INTO PlaylistTrack VALUES (2, \(track));")
            case 3:
                lines.append(
                    "DELETE FROM PlaylistTrack WHERE PlaylistId = 1 AND TrackId = \(track);")
            case 4:
                lines.append(
                    "UPDATE Album SET Title = 'title \(tag)\(number)' WHERE AlbumId = \(1 + track % 90);"
                )
            case 5:
                lines.append(
                    "UPDATE Track SET AlbumId = \(1 + track % 90) WHERE TrackId = \(track);")
            case 6:
                lines.append(
                    "UPDATE Track SET Composer = 'composer \(tag)\(number)' WHERE TrackId = \(track);"
                )
            default:
                lines.append(
                    "UPDATE Track SET Name = 'track \(tag)\(number)' WHERE TrackId = \(track);")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Everything that a person sees, without the numbers that are private to a replica.
    static let canonical = """
        SELECT 'artist', Name FROM Artist ORDER BY Name;
        SELECT 'album', Title, Name FROM Album JOIN Artist USING (ArtistId) ORDER BY 2, 3;
        SELECT 'track', t.Name, a.Title, t.Composer, t.Milliseconds, t.UnitPrice
          FROM Track t LEFT JOIN Album a USING (AlbumId) ORDER BY 2, 3, 4, 5;
        SELECT 'playlist', p.PlaylistId, t.Name FROM PlaylistTrack
          JOIN Playlist p USING (PlaylistId) JOIN Track t USING (TrackId) ORDER BY 2, 3;
        SELECT 'line', count(*), sum(UnitPrice), sum(Quantity) FROM InvoiceLine;
        SELECT 'customer', FirstName, LastName, Email FROM Customer ORDER BY 2, 3, 4;
        """
}

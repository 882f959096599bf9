import Foundation
import SyncRemotes
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// Two copies of the public Chinook sample, edited by `sqlite3` and exchanged through a folder.
@Suite(
    "Merging two copies of Chinook",
    .enabled(if: Machine.sample != nil && Machine.sqlite3 != nil))
struct ChinookTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "a thousand edits in each come out equal; conflicts can be turned round",
        .timeLimit(.minutes(15)))
    func randomEditsConverge() async throws {
        let (a, b) = try copies()
        let seed = TestSeed.fixed(1)
        try shell(a.path, Self.meetings[0] + Script("a", seed).text(edits: 1000))
        try shell(b.path, Self.meetings[1] + Script("b", seed).text(edits: 1000))
        let remote = try remoteFolder(a)
        try await exchange(a, b, remote)
        try expectEqual(a, b)

        // Both inserted album 349: two albums, each writer under its own number.
        for store in [a, b] {
            let titles = "SELECT Title FROM Album WHERE Title LIKE 'Meeting %' ORDER BY 1"
            #expect(try store.rows(titles) == [["Meeting A"], ["Meeting B"]])
            // The same track in the same playlist is one row.
            let track = "SELECT count(*) FROM PlaylistTrack WHERE PlaylistId = 2 AND TrackId = 5"
            #expect(try store.rows(track) == [[1]])
            #expect(try store.rows("SELECT count(*) FROM Artist WHERE ArtistId = 276") == [[0]])
        }
        #expect(try a.rows("SELECT Title FROM Album WHERE AlbumId = 349") == [["Meeting A"]])
        #expect(try b.rows("SELECT Title FROM Album WHERE AlbumId = 349") == [["Meeting B"]])
        // The artist is gone; the edit of the album that went with it is in the log.
        let conflicts = try a.replica.conflicts()
        #expect(
            conflicts.contains {
                $0.entity == "Album" && $0.losing.values["Title"] == "Edited on B"
            })

        for conflict in conflicts.filter({ $0.reason == .lost }).prefix(5) {
            try a.replica.resolve(conflict.id, keeping: .losing, author: "judge")
        }
        try await exchange(a, b, remote)
        try expectEqual(a, b)
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
    }

    private static let meetings = [
        """
        INSERT INTO Album VALUES (349, 'Meeting A', 1);
        INSERT INTO PlaylistTrack VALUES (2, 5);
        DELETE FROM Track WHERE AlbumId IN (SELECT AlbumId FROM Album WHERE ArtistId = 276);
        DELETE FROM Album WHERE ArtistId = 276;
        DELETE FROM Artist WHERE ArtistId = 276;

        """,
        """
        INSERT INTO Album VALUES (349, 'Meeting B', 2);
        INSERT INTO PlaylistTrack VALUES (2, 5);
        UPDATE Album SET Title = 'Edited on B' WHERE ArtistId = 276;

        """,
    ]

    // MARK: Setting

    private func copies() throws -> (TestStore, TestStore) {
        let sample = try #require(Machine.sample)
        let first = folder.file("a.db")
        try FileManager.default.copyItem(atPath: sample, toPath: first)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: first)
        try Store.track(first)
        // Its artist 276 has albums and nothing that sells: what refers to it goes with it.
        try shell(
            first,
            """
            DELETE FROM PlaylistTrack WHERE TrackId IN (SELECT TrackId FROM Track WHERE AlbumId IN
              (SELECT AlbumId FROM Album WHERE ArtistId IN (275, 276)));
            DELETE FROM InvoiceLine WHERE TrackId IN (SELECT TrackId FROM Track WHERE AlbumId IN
              (SELECT AlbumId FROM Album WHERE ArtistId IN (275, 276)));
            UPDATE Album SET ArtistId = 276 WHERE ArtistId = 275;
            INSERT OR IGNORE INTO Artist VALUES (276, 'Nobody');
            INSERT INTO Album(Title, ArtistId) VALUES ('By nobody', 276);
            """)
        // Stated once: from then on a copy is a replica like any other.
        let replica = try StoreReplica(first)
        _ = try replica.position()
        try replica.close()
        let second = folder.file("b.db")
        try FileManager.default.copyItem(atPath: first, toPath: second)
        return (
            try TestStore(first, try StoreReplica(first)),
            try TestStore(second, try StoreReplica(second))
        )
    }

    private func remoteFolder(_ store: TestStore) throws -> String {
        let path = folder.file("remote")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try DirectoryRemote.create(path, store: store.replica.storeID)
        return path
    }

    private func exchange(_ a: TestStore, _ b: TestStore, _ path: String) async throws {
        for store in [a, b, a] {
            let remote = try DirectoryRemote(
                path, store: store.replica.storeID, replica: store.replica.replicaID)
            _ = try await Exchange(store.replica, with: remote).sync()
        }
    }

    private func shell(_ path: String, _ script: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Machine.sqlite3))
        process.arguments = [path]
        let input = Pipe()
        process.standardInput = input
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        input.fileHandleForWriting.write(
            Data("PRAGMA foreign_keys = ON;\nPRAGMA synchronous = OFF;\n\(script)".utf8))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Everything but the private numbers.
    private func expectEqual(_ a: TestStore, _ b: TestStore) throws {
        let queries = [
            "SELECT Name FROM Artist ORDER BY 1",
            "SELECT Title, Name FROM Album LEFT JOIN Artist USING (ArtistId) ORDER BY 1, 2",
            """
            SELECT t.Name, a.Title, g.Name, m.Name, Composer, Milliseconds, Bytes, UnitPrice
            FROM Track t LEFT JOIN Album a USING (AlbumId) LEFT JOIN Genre g USING (GenreId)
            LEFT JOIN MediaType m USING (MediaTypeId) ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
            """,
            """
            SELECT p.Name, t.Name, t.Milliseconds FROM PlaylistTrack
            JOIN Playlist p USING (PlaylistId) JOIN Track t USING (TrackId) ORDER BY 1, 2, 3
            """,
            """
            SELECT Total, InvoiceDate, Email FROM Invoice JOIN Customer USING (CustomerId)
            ORDER BY 1, 2, 3
            """,
            "SELECT count(*) FROM InvoiceLine", "PRAGMA foreign_key_check",
        ]
        for query in queries {
            let isEqual = try a.rows(query) == b.rows(query)
            #expect(isEqual, "\(query)")
        }
        #expect(try a.rows("PRAGMA foreign_key_check").isEmpty)
        #expect(try a.rows("PRAGMA integrity_check") == [["ok"]])
    }
}

/// What the test needs of the machine.
private enum Machine {
    static let sample = ProcessInfo.processInfo.environment["SYNCD_CHINOOK"].flatMap {
        FileManager.default.fileExists(atPath: $0) ? $0 : nil
    }
    static let sqlite3 = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}

/// Random edits of Chinook, as a person would type them.
private struct Script {
    private var random: SeededRandom
    private let name: String

    /// - Parameter name: of the writer; another one writes something else with the same seed.
    init(_ name: String, _ seed: TestSeed) {
        random = SeededRandom(seed: name.utf8.reduce(seed.value) { $0 &* 257 &+ UInt64($1) })
        self.name = name
    }

    func text(edits: Int) -> String {
        var copy = self
        return (0..<edits).map { copy.edit($0) }.joined(separator: "\n") + "\n"
    }

    private mutating func edit(_ number: Int) -> String {
        let album = 1 + random.below(347)
        let track = 1 + random.below(3503)
        switch random.below(10) {
        case 0:
            return "UPDATE Album SET Title = 'T\(name)-\(number)' WHERE AlbumId = \(album % 40);"
        case 1, 2: return "UPDATE Track SET Name = 'N\(name)-\(number)' WHERE TrackId = \(track);"
        case 3: return "UPDATE Track SET Composer = '\(name)-\(number)' WHERE TrackId = \(track);"
        case 4: return "UPDATE Track SET AlbumId = \(album) WHERE TrackId = \(track);"
        case 5:
            return
                "INSERT INTO Album(Title, ArtistId) VALUES ('\(name)-\(number)', \(1 + album % 275));"
        case 6:
            return "INSERT OR IGNORE INTO PlaylistTrack VALUES (\(1 + random.below(18)), \(track));"
        case 7: return "DELETE FROM PlaylistTrack WHERE TrackId = \(track);"
        case 8: return "DELETE FROM Album WHERE Title LIKE '\(name)-%' AND AlbumId % 5 = 0;"
        default:
            return
                "UPDATE Customer SET City = '\(name)-\(number)' WHERE CustomerId = \(1 + random.below(59));"
        }
    }
}

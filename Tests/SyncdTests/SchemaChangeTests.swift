import Foundation
import SyncClient
import SyncMerge
import Testing

/// Other programs change tables, with the daemon there and not there.
@Suite(.timeLimit(.minutes(3))) struct SchemaChangeTests {
    private let rebuild = [
        "CREATE TABLE Made(AlbumId INTEGER PRIMARY KEY, Title TEXT, ArtistId INTEGER, Year INTEGER)",
        "INSERT INTO Made(AlbumId, Title, ArtistId) SELECT AlbumId, Title, ArtistId FROM Album",
        "DROP TABLE Album",
        "ALTER TABLE Made RENAME TO Album",
        "DELETE FROM Album WHERE AlbumId = 1",
        "UPDATE Album SET Title = 'other' WHERE AlbumId = 2",
        "INSERT INTO Album(AlbumId, Title) VALUES (77, 'new')",
    ]

    /// What of the objects is told, whatever the number of transactions.
    private func told(_ seen: Collector) -> Set<String> {
        Set(seen.transactions.flatMap(\.changes).map { "\($0.kind.name) \($0.object.path)" })
    }

    @Test(arguments: [true, false]) func aRebuiltTableLosesNothing(isRunning: Bool) async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        // Fingerprints are taken when it is quiet.
        try await eventually("fingerprints") {
            try sqlite3(store, "SELECT count(*) FROM syncd_lineage") == "2"
                && sqlite3(
                    store,
                    """
                    SELECT coalesce(
                        (SELECT value FROM syncd_meta WHERE key = 'fingerprinted'), 0)
                      >= (SELECT coalesce(max(seq), 0) FROM syncd_log)
                    """) == "1"
        }
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        if !isRunning { daemon.kill9() }
        try sqlite3(store, "BEGIN;" + rebuild.joined(separator: ";") + "; COMMIT")
        if !isRunning { try await daemon.start() }
        try await eventually("the three changes") {
            told(seen).isSuperset(of: [
                "delete Album/1", "update Album/2", "insert Album/77",
            ])
        }
        try sqlite3(store, "UPDATE Album SET Year = 1999 WHERE AlbumId = 3")
        try await eventually("goes on") {
            seen.transactions.last?.changes.map(\.properties) == [["Year"]]
        }
        #expect(seen.transactions.contains { $0.flags.contains(.recovered) })
    }

    @Test func aQuietStoreIsWholeInItsMainFile() async throws {
        let daemon = try await TestDaemon()
        let store = try await daemon.makeStore(rows: 3)
        try sqlite3(store, "UPDATE Album SET Title = 'in the main file' WHERE AlbumId = 2")
        try await eventually("checkpoint") {
            let copy = daemon.directory.file("copy-\(UUID().uuidString).db")
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            let title = try? sqlite3(copy, "SELECT Title FROM Album WHERE AlbumId = 2")
            return title == "in the main file"
        }
    }
}

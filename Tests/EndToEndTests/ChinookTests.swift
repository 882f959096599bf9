import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing
import Varlink

/// The whole road: foreign writers, the daemon, clients in Swift and in Python, each of them killed
/// at random. Every client gets every change once, in order, and what history says.
@Suite("Chinook, end to end", .serialized, .timeLimit(.minutes(5)))
struct ChinookTests {
    private static let albumsChanged = 60
    private static let artistsInserted = 300

    @Test(arguments: ["delete", "wal"])
    func everyClientGetsEachTransactionOnceInOrder_whileAllAreKilled(
        journalMode: String
    ) async throws {
        let seed = TestSeed.drawn().value
        try await Scene.with { scene in
            let music = try await scene.makeMusic()
            try await scene.sql(music, "PRAGMA journal_mode = \(journalMode)")
            let before = try await AlbumValues.all(scene, music)
            let parts = Moving(scene: scene, music: music)
            do {
                try await parts.startDaemon()
                try await scene.tool("track", music).expectSuccess()
                try await parts.startClients()
                try await play(scene, music, parts, seed)
            } catch {
                await parts.stop()
                throw error
            }
            let history = Recorded.all(
                try await scene.tool("history", music, "--json").expectSuccess().text)
            let (received, kills) = (await parts.received(), await parts.kills)
            await parts.stop()
            #expect(kills > 5, "the writers were done before anything was killed")
            for (client, transactions) in received {
                check(client, transactions, history, "SYNCD_SEED=\(seed), kills \(kills)")
            }
            checkModel(history, before, "SYNCD_SEED=\(seed)")
        }
    }

    /// Writers write while the chaos goes on; then everybody catches up.
    private func play(
        _ scene: Scene, _ music: String, _ parts: Moving, _ seed: UInt64
    ) async throws {
        let chaos = Task { try await parts.killAtRandom(seed: seed) }
        do {
            async let albums: Void = changeAlbums(scene, music)
            async let artists: Void = insertArtists(scene, music)
            _ = try await (albums, artists)
        } catch {
            chaos.cancel()
            _ = await chaos.result
            throw error
        }
        chaos.cancel()
        try await chaos.value
        try await parts.catchUp()
    }

    // MARK: Writers

    /// A process of the sqlite3 shell for each transaction: an update and a delete.
    private func changeAlbums(_ scene: Scene, _ music: String) async throws {
        for album in 1...Self.albumsChanged {
            try await scene.sql(
                music,
                """
                BEGIN IMMEDIATE;
                UPDATE Album SET Title = Title || ' (live)' WHERE AlbumId = \(album);
                DELETE FROM Album WHERE AlbumId = \(album + Self.albumsChanged);
                COMMIT
                """)
        }
    }

    /// One process in Python that inserts in a loop; every second transaction is signed.
    private func insertArtists(_ scene: Scene, _ music: String) async throws {
        let script = """
            import os, sqlite3, time
            connection = sqlite3.connect("\(music)", timeout=30, isolation_level=None)
            for i in range(\(Self.artistsInserted)):
                connection.execute("BEGIN IMMEDIATE")
                if i % 2:
                    connection.execute(
                        "INSERT INTO syncd_txn(author, pid) VALUES ('importer', ?)",
                        (os.getpid(),))
                connection.execute("INSERT INTO Artist VALUES (?, ?)", (100000 + i, f"New {i}"))
                connection.execute("COMMIT")
                time.sleep(0.01)
            """
        let child = try scene.start(Binaries.plainPython, "-c", script)
        try await child.output(within: .seconds(200)).expectSuccess()
    }

    // MARK: Checks

    /// Numbers ascend and are history's; the changes, one after the other, are history's. A
    /// transaction that was delivered before a crash may stand in history coalesced with its
    /// neighbours, never split.
    private func check(
        _ client: String, _ received: [Recorded], _ history: [Recorded], _ seed: Comment
    ) {
        let numbers = received.map(\.number)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "\(client), \(seed)")
        #expect(numbers.last == history.last?.number, "\(client), \(seed)")
        let unknown = Set(numbers).subtracting(history.map(\.number)).sorted()
        #expect(unknown.isEmpty, "\(client), \(seed): history \(history.map(\.number))")
        let got = received.flatMap(\.changes)
        let had = history.flatMap(\.changes)
        #expect(got.count == had.count, "\(client), \(seed)")
        let difference = zip(got, had).first { $0 != $1 }
        #expect(difference == nil, "\(client), \(seed): \(difference.map { "\($0)" } ?? "")")
    }

    /// History holds what the writers did, no more and no less.
    private func checkModel(
        _ history: [Recorded], _ before: [Int64: AlbumValues], _ seed: Comment
    ) {
        var changes: [String: Recorded.Change] = [:]
        for change in history.flatMap(\.changes) {
            #expect(changes.updateValue(change, forKey: change.object) == nil, "\(change), \(seed)")
        }
        #expect(changes.count == 2 * Self.albumsChanged + Self.artistsInserted + 1, seed)
        for album in 1...Self.albumsChanged {
            #expect(changes["Album/\(album)"]?.kind == "update", seed)
            #expect(changes["Album/\(album)"]?.properties == ["Title"], seed)
            let gone = Int64(album + Self.albumsChanged)
            let deleted = changes["Album/\(gone)"]
            #expect(deleted?.kind == "delete", seed)
            #expect(deleted?.tombstone?["Title"]?.string == before[gone]?.title, seed)
            #expect(deleted?.tombstone?["ArtistId"]?.integer == before[gone]?.artist, seed)
        }
        for index in 0..<Self.artistsInserted {
            #expect(changes["Artist/\(100_000 + index)"]?.kind == "insert", seed)
        }
        let signed = history.filter { $0.author == "importer" }
        for transaction in signed where !transaction.flags.contains("coalesced") {
            let isOnlyItsOwn = transaction.changes.allSatisfy { $0.object.hasPrefix("Artist/") }
            #expect(isOnlyItsOwn, "\(transaction), \(seed)")
        }
        #expect(!signed.isEmpty, seed)
    }
}

/// What a tombstone of an album has to hold.
struct AlbumValues {
    let title: String
    let artist: Int64

    static func all(_ scene: Scene, _ music: String) async throws -> [Int64: AlbumValues] {
        let text = try await scene.sql(
            music, "SELECT AlbumId || '|' || ArtistId || '|' || Title FROM Album")
        var values: [Int64: AlbumValues] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "|", maxSplits: 2)
            guard parts.count == 3, let id = Int64(parts[0]), let artist = Int64(parts[1]) else {
                continue
            }
            values[id] = AlbumValues(title: String(parts[2]), artist: artist)
        }
        return values
    }
}

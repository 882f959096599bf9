import Foundation
import SyncClient
import SyncCore
import SyncTesting
import Testing

@testable import syncd

/// `entities`, `undo` and `keep` of a store that is tracked already: they take effect, or every
/// place says that they do not.
@Suite(.timeLimit(.minutes(5))) struct CaptureConfigurationTests {
    private let folder: TemporaryFolder
    private var store: String { folder.file("music.db") }
    private var file: String { folder.file("syncd.yaml") }

    init() throws {
        folder = try TemporaryFolder()
        try sqlite3(
            folder.file("music.db"),
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
            CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT);
            INSERT INTO Album VALUES (1, 'One'), (2, 'Two');
            """)
    }

    private func configure(_ entry: String) throws {
        try "stores: [{path: \(store)\(entry)}]\n".write(
            toFile: file, atomically: true, encoding: .utf8)
    }

    private func troubles(_ daemon: TestDaemon) async throws -> [StoreTrouble] {
        try await daemon.client.overview().stores.flatMap(\.troubles)
            .filter { $0.work == .configuration }
    }

    private func synctool(_ arguments: [String], _ daemon: TestDaemon) throws -> Ended {
        try run(
            Programs.synctool.path, arguments, environment: ["SYNCD_SOCKET": daemon.socket])
    }

    @Test func aReloadAddsWhatATrackedStoreLacks() async throws {
        try configure(", track: true")
        let daemon = try await TestDaemon(in: folder)
        let seen = Collector(daemon.client.subscribe(store))
        try await seen.begun()
        try configure(", track: true, undo: ['*'], keep: none")
        daemon.signal(SIGHUP)
        try await daemon.logs("recorded as configured from now on")
        #expect(try await troubles(daemon).isEmpty)
        try sqlite3(
            store,
            "UPDATE Album SET Title = 'Three' WHERE AlbumId = 1; CREATE TABLE Later(k "
                + "TEXT PRIMARY KEY, v); INSERT INTO Later VALUES ('a', 1)")
        try sqlite3(store, "DELETE FROM Album WHERE AlbumId = 2")
        try await eventually("all is told") { Set(seen.objects).count >= 3 }
        let history = try await daemon.client.history(store).flatMap(\.changes)
        let update = try #require(history.first { $0.kind == .update })
        #expect(update.oldValues?["Title"] == "One")
        let delete = try #require(history.first { $0.kind == .delete })
        #expect(delete.tombstone?["Title"] == nil)
        try sqlite3(store, "UPDATE Later SET v = 2")
        try await eventually("a table that came later keeps old values, too") {
            try await daemon.client.history(store).flatMap(\.changes)
                .contains { $0.object.path == "Later/a" && $0.oldValues?["v"] == 1 }
        }
    }

    @Test func whatCannotBeTakenBackIsSaid() async throws {
        try configure(", track: true, undo: ['*'], keep: none")
        let daemon = try await TestDaemon(in: folder)
        try await eventually("it is open") { (try? await daemon.client.head(store)) != nil }
        #expect(try await troubles(daemon).isEmpty)
        try configure(", track: true, undo: [album], keep: all, entities: [Album]")
        daemon.signal(SIGHUP)
        try await eventually("it is a trouble; log: \(daemon.log)") {
            try await !troubles(daemon).isEmpty
        }
        let words = [
            "entities: Artist is tracked, too", "undo: updates of Artist keep old values, too",
            "keep: deleted rows of Album, Artist keep no values", "synctool untrack \(store); ",
        ]
        for arguments in [["config"], ["status", "--check"], ["doctor", store]] {
            let ended = try synctool(arguments, daemon)
            #expect(ended.status == (arguments[0] == "config" ? 0 : 1), "\(ended)")
            for word in words {
                #expect((ended.output + ended.errors).contains(word), "\(word) in \(ended)")
            }
        }
        let check = try run(
            Programs.syncd.path,
            ["--check-config"] + TestDaemon.arguments(folder))
        #expect(check.status == 1, "\(check)")
        for word in words { #expect(check.errors.contains(word), "\(word) in \(check)") }
        for word in words.dropLast() { try await daemon.logs(word) }
        // An entry that says nothing of it is content.
        try configure("")
        daemon.signal(SIGHUP)
        try await eventually("no trouble is left") { try await troubles(daemon).isEmpty }
    }

    /// Old values of a table that is not to be recorded at all are no reason to record it.
    @Test func undoTracksNothingThatEntitiesLeaveOut() async throws {
        let tracked = try run(
            Programs.synctool.path, ["track", store, "--direct", "--entity", "Album"])
        #expect(tracked.status == 0, "\(tracked)")
        try configure(", track: true, entities: [Album], undo: [Album, Artist]")
        let daemon = try await TestDaemon(in: folder)
        try await daemon.logs("recorded as configured from now on")
        try await eventually("it is open") { (try? await daemon.client.head(store)) != nil }
        #expect(try await daemon.client.status(store).entities.map(\.name) == ["Album"])
        #expect(try await troubles(daemon).isEmpty)
    }

    /// What can be recorded is, and nothing is said of the rest but that it is not.
    @Test func whatCannotBeRecordedKeepsNothingElseFromIt() async throws {
        try sqlite3(store, "CREATE TABLE Plain(a)")
        let tracked = try run(
            Programs.synctool.path, ["track", store, "--direct", "--entity", "Album"])
        #expect(tracked.status == 0, "\(tracked)")
        try configure(", track: true, entities: [Album, Plain, Albun], undo: [Album]")
        let daemon = try await TestDaemon(in: folder)
        try await eventually("it is a trouble; log: \(daemon.log)") {
            try await !troubles(daemon).isEmpty
        }
        #expect(
            try await troubles(daemon)[0].text
                == "not recorded as configured: not tracked: Plain, Albun; Plain cannot be recorded: "
                + "it declares no PRIMARY KEY, so its rows have no identity")
        let notices = daemon.log.split(separator: "\n")
            .filter { $0.contains("recorded as configured from now on") }
        #expect(notices.count == 1)
        #expect(notices.first?.contains("undo: updates of Album keep no old values") == true)
        #expect(notices.first?.contains("Plain") == false)
        try sqlite3(store, "UPDATE Album SET Title = 'Three' WHERE AlbumId = 1")
        try await eventually("old values are kept") {
            try await daemon.client.history(store).flatMap(\.changes)
                .contains { $0.oldValues?["Title"] == "One" }
        }
    }

    /// The daemon tracks nothing that it was not told to track.
    @Test func withoutTrackTheCommandIsNamed() async throws {
        let tracked = try run(
            Programs.synctool.path, ["track", store, "--direct", "--entity", "Album"])
        #expect(tracked.status == 0, "\(tracked)")
        try configure(", undo: [Album], entities: [Album, Artist]")
        let daemon = try await TestDaemon(in: folder)
        try await eventually("it is a trouble; log: \(daemon.log)") {
            try await !troubles(daemon).isEmpty
        }
        let trouble = try await troubles(daemon)[0]
        #expect(
            trouble.text == "not recorded as configured: not tracked: Artist; "
                + "undo: updates of Album keep no old values")
        let command = "synctool track \(store) --entity Album --entity Artist --undo Album"
        #expect(trouble.hint?.hasSuffix(command) == true, "\(trouble)")
        let arguments = command.split(separator: " ").dropFirst().map(String.init)
        let made = try synctool(arguments, daemon)
        #expect(made.status == 0, "\(made)")
        #expect(try await troubles(daemon).isEmpty)
        #expect(try await daemon.client.status(store).entities.count == 2)
    }
}

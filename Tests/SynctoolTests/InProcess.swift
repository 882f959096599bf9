import Foundation
import SyncCore

@testable import synctool

/// Commands that run in the process of the test, on a database in a folder of their own.
final class InProcess {
    let folder: URL
    /// The path of a tracked database with two tables and a history.
    let database: String
    /// The path of a file that is no database.
    let text: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "synctool-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        database = folder.appendingPathComponent("music.db").path
        text = folder.appendingPathComponent("notes.txt").path
        _ = FileManager.default.createFile(atPath: database, contents: Data())
        try Data("not a database, but long enough to be looked at by everyone".utf8)
            .write(to: URL(fileURLWithPath: text))
        _ = try Store.track(database, choosing: CaptureChoice(undo: ["*"]))
        _ = try Store.alter(
            database,
            running: """
                CREATE TABLE Artist(ArtistId INTEGER PRIMARY KEY, Name TEXT);
                CREATE TABLE Album(AlbumId INTEGER PRIMARY KEY, Title TEXT,
                  ArtistId INTEGER REFERENCES Artist ON DELETE CASCADE);
                """)
        _ = try Store.track(database, choosing: CaptureChoice(undo: ["*"]))
        _ = try Store.alter(
            database,
            running: """
                INSERT INTO Artist VALUES (50, 'Metallica');
                INSERT INTO Album VALUES (348, 'Load', 50), (349, 'Reload', 50);
                """)
        let update = "UPDATE Album SET Title = 'Lord' WHERE AlbumId = 348"
        _ = try Store.alter(database, running: update)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    struct Output {
        let status: Int32
        let text: String
        let errors: String

        /// The last line of the errors, as an object.
        var error: [String: Any]? {
            let line = errors.split(separator: "\n").last.map(String.init) ?? ""
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
            return object as? [String: Any]
        }

        /// A member of it that is a string.
        func string(_ name: String) -> String? { error?[name] as? String }
    }

    static func run(_ arguments: [String]) async -> Output {
        let copy = OutputCopy()
        let status = await Terminal.$copy.withValue(copy) {
            await CommandRun.status(of: arguments)
        }
        return Output(status: status, text: copy.text(of: 1), errors: copy.text(of: 2))
    }
}

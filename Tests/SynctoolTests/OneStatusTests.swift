import Foundation
import SyncCore
import Testing

@testable import synctool

/// One mistake has one code, and so one exit status, in every command (docs/cli.md).
@Suite("One status for one mistake", .timeLimit(.minutes(10)))
struct OneStatusTests {
    private static let mistakes: [(code: SyncError.Code, status: Int32, lines: [String])] = [
        (
            .unknownEntity, 1,
            [
                "history DB --entity Albun --direct", "history DB --object Albun/1 --direct",
                "history DB --property Titel --direct",
                "history DB --entity Album --property Name --direct",
                "watch DB --entity Albun --direct", "watch DB --property Titel --direct",
                "show DB Albun/1", "blame DB Albun/1", "restore DB Albun/1",
                "purge DB --object Albun/1", "policy DB Albun",
                "policy DB Albun --deletes editWins",
                "policy DB Albun --reset", "policy DB Album --property Titel=counter",
                "conflicts resolve DB --all --entity Albun --expect 0",
            ]
        ),
        (
            .unknownObject, 1,
            [
                "revert DB 4711", "show DB Album/348 --at 4711", "blame DB Album/348 --at 4711",
                "diff DB 4711", "diff DB 0 4711", "conflicts show DB 4711",
                "conflicts resolve DB 4711", "restore DB Album/4711",
                "purge DB --object Album/4711",
                "blame DB Album/4711",
                "remote members DB --remove nobody", "remote members DB --admit nobody",
                "key rotate DB --keep nobody",
                "policy DB Album --property Title=preferring\u{A0}nobody",
            ]
        ),
        (.unknownConsumer, 1, ["consumers remove DB nobody --direct"]),
        (
            .refused, 1,
            [
                "push DB orign", "pull DB orign", "sync DB orign", "remote remove DB orign",
                "schema DB --from orign",
            ]
        ),
        (
            .invalidToken, 65,
            [
                "history DB --after x1 --direct", "history DB --up-to x1 --direct",
                "watch DB --after x1 --direct", "consumers ack DB me x1 --direct",
            ]
        ),
        (
            .invalidArgument, 64,
            [
                "history DB --since lately --direct", "history DB --until lately --direct",
                "show DB Album/348 --at lately", "blame DB Album/348 --at lately", "diff DB lately",
                "purge DB --before lately --direct", "purge DB --older-than lately --direct",
                "show DB Album", "blame DB Album", "restore DB Album", "history DB --object Album",
                "purge DB --object Album", "show DB Album/1,2", "blame DB Album/1,2",
                "policy DB Album --property Title=cuonter", "policy DB Album --deletes x",
                "remote add DB origin ftp://x", "remote add DB origin dir:relative",
                "clone ftp://x NEW", "key share DB --to x", "purge DB --force --direct",
                "trak DB", "history DB --jsn", "remote ad DB", "conflicts DB --al",
            ]
        ),
        (
            .noSuchFile, 66,
            [
                "track NEW --direct", "history NEW --direct", "show NEW Album/1",
                "blame NEW Album/1",
                "revert NEW 1", "restore NEW Album/1", "diff NEW 1", "push NEW", "remote list NEW",
                "policy NEW", "conflicts NEW", "key show NEW", "schema NEW", "upgrade NEW",
                "alter NEW SELECT", "purge NEW --direct", "consumers NEW --direct",
                "key import DB NEW",
            ]
        ),
        (
            .unreachable, 69,
            [
                "clone dir:/nonexistent/folder NEW", "remote add DB origin dir:/nonexistent/folder",
                "status --socket NEW", "status DB --socket NEW", "watch --socket NEW",
            ]
        ),
        (
            .notTracked, 1,
            [
                "history PLAIN --direct", "untrack PLAIN --direct", "show PLAIN Album/1",
                "blame PLAIN Album/1", "revert PLAIN 1", "push PLAIN", "policy PLAIN",
                "consumers PLAIN --direct", "purge PLAIN --direct", "upgrade PLAIN", "schema PLAIN",
                "key show PLAIN", "remote list PLAIN", "conflicts PLAIN", "alter PLAIN SELECT",
            ]
        ),
    ]

    @Test func everyCommandAgrees() async throws {
        let world = try InProcess()
        let plain = world.folder.appendingPathComponent("plain.db").path
        try FileManager.default.copyItem(atPath: world.database, toPath: plain)
        _ = try Store.untrack(plain)
        for (code, status, lines) in Self.mistakes {
            for line in lines {
                let arguments = line.split(separator: " ").map { word -> String in
                    switch word {
                    case "DB": return world.database
                    case "NEW": return world.folder.appendingPathComponent("new.db").path
                    case "PLAIN": return plain
                    default: return String(word).replacing("\u{A0}", with: " ")
                    }
                }
                let output = await InProcess.run(arguments + ["--json"])
                let comment = Comment(rawValue: "\(line): \(output.status) \(output.errors)")
                #expect(output.status == status, comment)
                let (name, hint) = (output.string("error"), output.string("hint"))
                #expect(name == code.name, comment)
                let isEmpty = hint?.isEmpty ?? true
                #expect(!isEmpty, "no next step: \(comment)")
            }
        }
    }

    @Test(arguments: [
        ("history DB --entity Albun --direct", "Album"), ("show DB artits/50", "Artist"),
        ("history DB --property Titel --direct", "Title"),
        ("policy DB Album --property Titel=counter", "Title"),
        ("policy DB Album --property Title=cuonter", "counter"),
        ("push DB orign", "origin"), ("consumers remove DB indexr --direct", "indexer"),
        ("policy DB Album --deletes editWin", "editWins"), ("histroy DB", "history"),
        ("history DB --entitty Album", "--entity"),
    ])
    func misspeltNamesAreSuggested(line: String, name: String) async throws {
        let world = try InProcess()
        let remote = world.folder.appendingPathComponent("remote")
        try FileManager.default.createDirectory(at: remote, withIntermediateDirectories: true)
        for arguments in [
            ["remote", "add", world.database, "origin", "dir:" + remote.path],
            ["consumers", "add", world.database, "indexer", "--direct"],
        ] {
            let output = await InProcess.run(arguments)
            try #require(output.status == 0, "\(output.errors)")
        }
        let words = line.split(separator: " ").map { $0 == "DB" ? world.database : String($0) }
        let output = await InProcess.run(words)
        #expect(output.status != 0 && output.errors.contains("Did you mean"), "\(output.errors)")
        #expect(output.errors.contains(name), "\(output.errors)")
    }
}

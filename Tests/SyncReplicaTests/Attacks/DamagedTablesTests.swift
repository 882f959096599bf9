import Foundation
import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// Any program that may write a database may write the tables of the record, and a disk may damage
/// them: a store with any rows in them is served, or refused with an error that names the damage.
/// Reading it never ends the process.
@Suite("Damaged tables of the record")
struct DamagedTablesTests {
    private static let schema = """
        CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE item(id INTEGER PRIMARY KEY, text, rank INTEGER,
          owner INTEGER REFERENCES owner(id) ON DELETE CASCADE);
        CREATE TABLE setting(name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
        INSERT INTO owner VALUES (1, 'ann'), (2, 'bob');
        INSERT INTO item VALUES (1, 'x', 1, 1), (2, 'y', 2, 2), (3, 'z', NULL, NULL);
        """

    private let folder: TemporaryFolder
    private let path: String
    private let batches: [[UInt8]]

    /// A store with merged, digested and logged rows and an open conflict, and what another replica
    /// has to send.
    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.db")
        let connection = try PlainConnection(path, wal: true)
        try connection.run(Self.schema)
        connection.close()
        try Store.track(path, options: ["item": CaptureOptions(undo: true)])
        let a = try TestStore(path, StoreReplica(path))
        let b = try a.copy(at: folder.file("b.db"))
        try a.run("UPDATE item SET text = 'here' WHERE id = 1; DELETE FROM owner WHERE id = 2")
        try b.run("UPDATE item SET text = 'there' WHERE id = 1")
        try b.run("INSERT INTO setting VALUES ('q', 1)")
        try TestStore.sync(a, b)
        let known = try a.replica.vector
        try b.run("INSERT INTO item(text) VALUES ('new'); UPDATE item SET rank = 7 WHERE id = 3")
        batches = try b.replica.batches(since: known)
        try a.run("UPDATE setting SET value = x'00'; INSERT INTO owner VALUES (9, 'cat')")
        try a.replica.close()
        try b.replica.close()
    }

    @Test(arguments: TestSeed.first(60))
    func anyRowIsServedOrRefused(seed: TestSeed) throws {
        var random = seed.random
        let path = folder.file("damaged.db")
        try PlainConnection(self.path).run("VACUUM INTO '\(path)'")
        let writer = try PlainConnection(path, wal: random.chance(0.7))
        var damage: [String] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            if let done = try? damageOne(writer, &random) { damage.append(done) }
        }
        writer.close()
        func attempt(_ what: String, _ body: () throws -> Void) {
            do { try body() } catch is SyncError {} catch {
                Issue.record("\(seed), \(what) after \(damage): \(error)")
            }
        }
        attempt("merge") {
            let replica = try StoreReplica(path)
            attempt("export") { _ = try replica.batches(since: VersionVector()) }
            for batch in batches { attempt("merge") { _ = try replica.merge(batch) } }
            attempt("conflicts") { _ = try replica.conflicts() }
            attempt("collect") { _ = try replica.collect() }
            attempt("export") { _ = try replica.batches(since: VersionVector()) }
            try replica.close()
        }
        attempt("open") {
            let store = try Store.open(path)
            attempt("history") { _ = try store.history() }
            attempt("verify") { _ = try store.verifyCapture() }
            attempt("purge") { _ = try store.purge() }
            try store.close()
        }
        attempt("check") { _ = try Store.checkRecord(path) }
        attempt("mend") { _ = try Store.mend(path, comparing: true) }
    }

    @Test(
        "doctor reads what each exchange begins with",
        arguments: [
            "syncd_header SET place = 9223372036854775807", "syncd_header SET number = -1",
            "syncd_header SET details = x'00'", "syncd_shape SET id = -1",
            "syncd_shape SET cells = '{'", "syncd_replica SET id = -id",
        ])
    func damageIsFound(change: String) throws {
        #expect(try (Store.checkRecord(path) ?? 0) > 0)
        try PlainConnection(path).run("UPDATE \(change) WHERE rowid = 1")
        let error = #expect(throws: SyncError.self) { try Store.checkRecord(path) }
        #expect(error.map { [.corrupt, .badData].contains($0.code) } == true)
    }

    @Test("a replica whose row is gone is missed: its number is not given to another one")
    func deletedReplica() throws {
        try PlainConnection(path).run("DELETE FROM syncd_replica")
        let replica = try StoreReplica(path)
        defer { try? replica.close() }
        let store = try TestStore(path, replica)
        try store.run("INSERT INTO owner VALUES (10, 'dan')")
        for _ in 0..<2 {
            let error = #expect(throws: SyncError.self) {
                _ = try replica.batches(since: VersionVector())
            }
            #expect(error?.code == .corrupt && error?.hint?.contains("backup") == true)
        }
    }

    /// Changes a value, adds a row like another one, or deletes some.
    private func damageOne(
        _ writer: PlainConnection, _ random: inout some RandomNumberGenerator
    ) throws -> String {
        let tables = try writer.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'syncd%'")
        guard case .text(let table)? = tables.randomElement(using: &random)?.first else {
            return "nothing"
        }
        let columns = try writer.rows("SELECT name FROM pragma_table_info('\(table)')").compactMap {
            if case .text(let name) = $0[0] { name } else { nil }
        }
        let rows = try writer.rows("SELECT * FROM \(table)")
        guard var row = rows.randomElement(using: &random) else { return "nothing" }
        let column = Int.random(in: 0..<columns.count, using: &random)
        let before = row
        row[column] = Self.damaged(row[column], &random)
        let literals = row.map(Self.literal)
        if Int.random(in: 0..<8, using: &random) == 0 {
            let isAll = Bool.random(using: &random)
            let condition = zip(columns, before).map { "\($0) IS \(Self.literal($1))" }
            try writer.run(
                "DELETE FROM \(table)"
                    + (isAll ? "" : " WHERE " + condition.joined(separator: " AND ")))
            return "\(table) without \(isAll ? "rows" : "\(before)")"
        }
        if Int.random(in: 0..<4, using: &random) > 0 {
            let condition = zip(columns, before).map { "\($0) IS \(Self.literal($1))" }
            try writer.run(
                "UPDATE \(table) SET \(columns[column]) = \(literals[column]) WHERE "
                    + condition.joined(separator: " AND "))
        } else {
            try writer.run(
                "INSERT OR REPLACE INTO \(table)(\(columns.joined(separator: ", "))) VALUES ("
                    + literals.joined(separator: ", ") + ")")
        }
        return "\(table).\(columns[column]) \(before) -> \(row[column])"
    }

    private static func damaged(
        _ value: Value, _ random: inout some RandomNumberGenerator
    ) -> Value {
        let others: [Value] = [
            .null, .integer(0), .integer(-1), .integer(.max), .integer(.min), .integer(1 << 40),
            .real(0.5), .real(1e300), "", "x", .blob([]), .blob([0xFF]),
            .integer(.random(in: 0...60, using: &random)),
        ]
        switch value {
        case .integer(let number) where Int.random(in: 0..<2, using: &random) == 0:
            return .integer(number ^ 1 << Int64.random(in: 0..<63, using: &random))
        case .blob(var bytes) where !bytes.isEmpty && Int.random(in: 0..<4, using: &random) > 0:
            let place = Int.random(in: bytes.indices, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes[place] = .random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place...)
            default: bytes.insert(.random(in: 0...255, using: &random), at: place)
            }
            return .blob(bytes)
        case .text(let text) where !text.isEmpty && Int.random(in: 0..<4, using: &random) > 0:
            var bytes = Array(text.utf8)
            bytes[Int.random(in: bytes.indices, using: &random)] =
                Array("0123456789{}[]\",:-x".utf8).randomElement(using: &random) ?? 0x30
            return .text(String(decoding: bytes, as: UTF8.self))
        default: return others.randomElement(using: &random) ?? .null
        }
    }

    private static func literal(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .integer(.min): "(-9223372036854775807 - 1)"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): "'\(text.replacing("'", with: "''"))'"
        case .blob(let bytes): "x'\(Hex.encode(bytes))'"
        }
    }
}

import Foundation
import SyncTesting

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// The tables of the product in a file that somebody else has written: any value in any column,
/// rows added and removed, tables gone, blobs and layouts changed by bytes. Then everything that the
/// product does with a store; each call refuses or works.
enum TablesTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        let sample = try sample.get()
        try sample.file.restore()
        var choices = FuzzChoices(bytes)
        try refusing("change") { try change(sample, &choices) }
        var operations = StoreOperations(sample.file.path, batches: sample.batches)
        try operations.run(&choices)
    }

    private struct Sample: Sendable {
        let file: FuzzFile
        let columns: [(table: String, column: String)]
        let batches: [[UInt8]]
    }

    private static let sample = Result {
        let paths = ["tables.db", "tables-other.db"].map(FuzzFolder.file)
        let connection = try PlainConnection(paths[0], wal: true)
        try connection.run(SampleSchema.sql)
        try Store.track(paths[0])
        let replica = try StoreReplica(paths[0])
        try replica.startSigning()
        let other = try StoreReplica.clone(
            at: paths[1], from: try replica.batches(since: VersionVector()))
        for sql in [
            "INSERT INTO note(text, num, body) VALUES ('x', 3, '[]')",
            "UPDATE item SET text = text || 'z' WHERE id = 1",
            "DELETE FROM note WHERE id = 2",
        ] { try connection.run(sql) }
        let writer = try PlainConnection(paths[1])
        try writer.run("UPDATE note SET text = 'theirs', num = 7 WHERE id = 1")
        try writer.run("INSERT INTO item(text, note) VALUES ('y', 1)")
        writer.close()
        for batch in try other.batches(since: replica.vector) { _ = try replica.merge(batch) }
        for batch in try replica.batches(since: other.vector) { _ = try other.merge(batch) }
        try replica.collect(lease: .zero)
        try connection.run("UPDATE note SET num = 5 WHERE id = 1")
        let after = try PlainConnection(paths[1])
        try after.run("UPDATE note SET num = 8 WHERE id = 1")
        try after.run("DELETE FROM item WHERE id = 2")
        after.close()
        let batches = try other.batches(since: replica.vector)
        try replica.close()
        try other.close()
        let store = try Store.open(paths[0])
        try store.register(consumer: "reader", lease: .seconds(3600))
        try store.close()
        // Rows that no digest has taken yet.
        try connection.run("INSERT INTO note(text) VALUES ('new')")
        let tables = try connection.strings(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'syncd%' ORDER BY 1")
        let columns = try tables.flatMap { table in
            try connection.strings("SELECT name FROM pragma_table_xinfo('\(table)')")
                .map { (table: table, column: $0) }
        }
        connection.close()
        return Sample(file: try FuzzFile(paths[0]), columns: columns, batches: batches)
    }

    // MARK: Changes

    private static func change(_ sample: Sample, _ choices: inout FuzzChoices) throws {
        let connection = try PlainConnection(sample.file.path)
        defer { connection.close() }
        for _ in 0...choices.below(4) {
            guard let place = choices.pick(sample.columns) else { return }
            let sql = statement(place.table, place.column, &choices)
            // What SQLite refuses was no change.
            try? connection.run(sql)
        }
    }

    private static func statement(
        _ table: String, _ column: String, _ choices: inout FuzzChoices
    ) -> String {
        let row = "(SELECT \(column) FROM \(table) LIMIT 1 OFFSET \(choices.below(16)))"
        let one = "WHERE \(column) IS \(row)"
        let place = 1 + choices.below(64)
        switch choices.byte() % 12 {
        case 0: return "UPDATE OR IGNORE \(table) SET \(column) = \(literal(&choices))"
        case 1, 2, 3:
            return "UPDATE OR IGNORE \(table) SET \(column) = \(literal(&choices)) \(one)"
        case 4, 5:
            let byte = "x'\(hex([choices.byte()]))'"
            return
                "UPDATE OR IGNORE \(table) SET \(column) = CAST(CAST(substr(\(column), 1, \(place - 1))"
                + " AS BLOB) || \(byte) || substr(CAST(\(column) AS BLOB), \(place + 1)) AS BLOB) \(one)"
        case 6:
            return "UPDATE OR IGNORE \(table) SET \(column) = substr(\(column), 1, \(place)) \(one)"
        case 7:
            let layout = choices.pick(layouts) ?? ""
            return
                "UPDATE syncd_entity SET layout = '\(layout)' WHERE id % 2 = \(choices.byte() % 2)"
        case 8: return "DELETE FROM \(table) \(choices.flag() ? one : "")"
        case 9: return "DROP TABLE \(table)"
        case 10:
            let values = (0..<5).map { _ in literal(&choices) }.joined(separator: ", ")
            return "INSERT OR REPLACE INTO syncd_log(seq, op, m, ts, pk, v0) "
                + "VALUES (\(literal(&choices)), \(values))"
        default:
            let key = choices.pick(keys) ?? ""
            return
                "INSERT OR REPLACE INTO syncd_meta(key, value) VALUES ('\(key)', \(literal(&choices)))"
        }
    }

    private static func literal(_ choices: inout FuzzChoices) -> String {
        switch choices.value() {
        case .null: return "NULL"
        case .integer(let number):
            return number == .min ? "(-9223372036854775807 - 1)" : "\(number)"
        case .real(let number):
            return number.isInfinite ? (number < 0 ? "-9e999" : "9e999") : "\(number)"
        case .text(let text):
            let clean = text.filter { $0 != "\0" }.replacing("'", with: "''")
            return "'\(clean)'"
        case .blob(let bytes): return "x'\(hex(bytes))'"
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static let keys = [
        "format", "store", "replica", "epoch", "file", "schema", "digested", "created", "entities",
        "fingerprinted", "tables", "stated", "policies", "sent", "former", "compared", "purged",
        "behind", "collectedAt", "collected", "signing", "unseen", "clock", "journals", "new",
    ]

    private static let layouts = [
        "", "{}", "[", "{\"key\":[],\"columns\":[],\"kept\":[]}",
        "{\"key\":[\"id\"],\"columns\":[],\"kept\":[99999999999]}",
        "{\"key\":[\"id\"],\"columns\":[\"id\",\"text\"],\"kept\":[9223372036854775807,-1]}",
        "{\"key\":[\"id\"],\"columns\":[\"id\"],\"kept\":[1],\"undo\":true,\"previous\":1}",
        "{\"key\":[\"id\",\"id\"],\"columns\":[\"id\",\"id\"],\"kept\":[0,0]}",
        "{\"key\":[\"absent\"],\"columns\":[\"absent\",\"text\"],\"kept\":[1],\"previous\":1}",
        "{\"key\":[\"id\"],\"columns\":[\"id\",\"text\"],\"kept\":[1],\"previous\":2}",
    ]
}

import Foundation

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage
@testable import SyncValues

/// The schema of a snapshot, as a remote may send it: a store is made of it, or it is refused, and
/// no other file is touched.
enum SchemaTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        var choices = FuzzChoices(bytes)
        let isText = choices.flag()
        let path = FuzzFolder.file("clone.db")
        FuzzFolder.remove(path)
        var batch = Batch(
            store: StoreID(high: 1, low: 2), sender: ReplicaID(high: 1, low: 1),
            from: VersionVector(), upTo: VersionVector(), entities: [], transactions: [],
            facts: [])
        batch.entities = ["t", "u"].map {
            Batch.Entity(name: $0, isPrivate: choices.flag(), cells: [["a"], ["b"]])
        }
        if isText {
            batch.extras.schema = [String(decoding: choices.rest, as: UTF8.self)]
        } else {
            while !choices.isAtEnd, batch.extras.schema.count < 6 {
                batch.extras.schema.append(statement(&choices))
            }
        }
        guard let bytes = try refusing("encode", { try BatchEncoder.encode(batch) }) else { return }
        try refusing("clone") {
            let replica = try StoreReplica.create(at: path, from: bytes)
            defer { try? replica.close() }
            _ = try replica.batches(since: VersionVector())
        }
        FuzzFolder.remove(path)
        try require(
            access(FuzzFolder.file("attached"), F_OK) != 0, "a snapshot made another file")
    }

    /// Statements of the grammar with chosen parts, right and wrong ones.
    private static func statement(_ choices: inout FuzzChoices) -> String {
        let name = choices.pick(["t", "u", "\"t\"", "syncd_log", "main.t", "temp.t", "T"]) ?? "t"
        switch choices.byte() % 12 {
        case 0: return "ATTACH '\(FuzzFolder.file("attached"))' AS x"
        case 1: return "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM u; END"
        case 2: return "CREATE VIEW v AS SELECT * FROM t"
        case 3:
            return "CREATE INDEX \(choices.pick(["i", "syncd_i", "sqlite_i"]) ?? "i") "
                + "ON \(name)(\(choices.pick(["a", "b", "a COLLATE x", "a + b", "abs(a)"]) ?? "a"))"
        case 4: return "CREATE VIRTUAL TABLE t USING fts5(a)"
        case 5: return "CREATE TABLE \(name) AS SELECT 1 AS a"
        case 6: return "PRAGMA writable_schema = 1"
        default: break
        }
        var columns = ["a \(type(&choices))", "b \(type(&choices))"]
        if choices.flag() { columns.append(tail(&choices)) }
        let end = choices.pick(["", " STRICT", " WITHOUT ROWID", "; DROP TABLE t", " -- x"]) ?? ""
        return "CREATE TABLE \(name)(\(columns.joined(separator: ", ")))\(end)"
    }

    private static func type(_ choices: inout FuzzChoices) -> String {
        choices.pick([
            "INTEGER PRIMARY KEY", "TEXT", "INTEGER", "TEXT PRIMARY KEY", "BLOB UNIQUE",
            "INT NOT NULL DEFAULT (1 / 0)", "TEXT COLLATE nocase UNIQUE",
            "INTEGER GENERATED ALWAYS AS (b + 1)", "REAL CHECK (a > 0)", "INTEGER REFERENCES t",
            "TEXT REFERENCES u(b) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED",
            "TEXT COLLATE absent", "INTEGER PRIMARY KEY AUTOINCREMENT",
            "TEXT DEFAULT (load_extension('x'))", "ANY", "TEXT AS (a) STORED",
        ]) ?? "TEXT"
    }

    private static func tail(_ choices: inout FuzzChoices) -> String {
        choices.pick([
            "PRIMARY KEY (a, b)", "UNIQUE (b, a)", "FOREIGN KEY (a, b) REFERENCES u(b, a)",
            "CHECK (a IN (SELECT a FROM t))", "CHECK (json_valid(b))", "CONSTRAINT c UNIQUE (a)",
        ]) ?? ""
    }
}

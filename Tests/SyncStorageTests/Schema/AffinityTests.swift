import SyncTesting
import Testing

@testable import SyncStorage

@Suite struct AffinityTests {
    /// What SQLite stores of a text that looks like a number shows the affinity of its column.
    @Test(arguments: [
        "INTEGER", "TINYINT", "FLOATING POINT", "CHARINT", "VARCHAR(10)", "CLOB", "text", "BLOB",
        "",
        "REAL", "DOUBLE PRECISION", "FLOAT", "NUMERIC", "DECIMAL(10,5)", "BOOLEAN", "DATE",
        "STRING",
        "BLOBTEXT", "ANY",
    ])
    func declaredTypesConvertAsInSQLite(type: String) throws {
        let db = try PlainConnection(":memory:")
        try db.run("CREATE TABLE t(x \(type)); INSERT INTO t VALUES ('500'), (500), ('5.0e2')")
        let stored = try db.strings("SELECT typeof(x) FROM t ORDER BY rowid")
        let expected =
            switch Affinity(declaredType: type, strict: false) {
            case .text: ["text", "text", "text"]
            case .integer, .numeric: ["integer", "integer", "integer"]
            case .real: ["real", "real", "real"]
            case .blob: ["text", "integer", "text"]
            }
        #expect(stored == expected)
    }

    @Test func anyOfAStrictTableConvertsNothing() throws {
        #expect(Affinity(declaredType: "ANY", strict: true) == .blob)
        #expect(Affinity(declaredType: "ANY", strict: false) == .numeric)
    }
}

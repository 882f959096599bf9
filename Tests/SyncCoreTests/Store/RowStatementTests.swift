import SyncTesting
import SyncValues
import Testing

@testable import SyncStorage

/// Statements that read many rows from memory write and find what as many statements with
/// parameters do.
@Suite("Statements over rows in memory")
struct RowStatementTests {
    private static let values: [Value] = [
        .null, .integer(.min), .integer(.max), .integer(0), .real(0.1), .real(-.infinity),
        .text(""), .text("bread"), .text("a\0b"), .text("😀 ü"), .blob([]), .blob([0, 1, 255]),
        .text(String(repeating: "x", count: 100_000)),
    ]

    private func makeConnection(_ sql: String) throws -> PlainConnection {
        let connection = try PlainConnection(":memory:")
        try RawTransaction.execute(sql, on: connection.handle)
        return connection
    }

    private func rows(_ sql: String, _ connection: PlainConnection) throws -> [[Value]] {
        let select = try Statement(sql, on: connection.handle)
        var rows: [[Value]] = []
        while try select.step() {
            rows.append((0..<select.columnCount).map { select.value($0) })
        }
        return rows
    }

    @Test(
        "each kind of value is written as by a parameter, whatever the column and the encoding",
        arguments: ["UTF-8", "UTF-16le"])
    func values(encoding: String) throws {
        let columns = "id INTEGER PRIMARY KEY, plain, i INTEGER, r REAL, t TEXT, n NUMERIC"
        let connection = try makeConnection(
            "PRAGMA encoding='\(encoding)'; CREATE TABLE a(\(columns)); CREATE TABLE b(\(columns))")
        let one = try Statement(
            "INSERT INTO a VALUES (?1, ?2, ?3, ?4, ?5, ?6)", on: connection.handle)
        let many = try RowStatement(width: 6, on: connection.handle) {
            "INSERT INTO b SELECT c1, c2, c3, c4, c5, c6 FROM \($0)"
        }
        for (id, value) in Self.values.enumerated() {
            let row = [.integer(Int64(id))] + Array(repeating: value, count: 5)
            one.bind(row)
            try one.run()
            many.addRow()
            for (column, value) in row.enumerated() { many.bind(value, at: Int32(column + 1)) }
        }
        #expect(try many.runUnlessRefused())
        let written = try rows("SELECT *, typeof(plain), typeof(n) FROM b", connection)
        #expect(written.count == Self.values.count)
        #expect(try written == rows("SELECT *, typeof(plain), typeof(n) FROM a", connection))
    }

    @Test("a row that a constraint refuses, or that changes nothing, is told; the next run is new")
    func refusals() throws {
        let connection = try makeConnection(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL); INSERT INTO t VALUES ('old')")
        func run(_ verb: String, _ keys: [String?]) throws -> Bool {
            let insert = try RowStatement(width: 1, on: connection.handle) {
                "INSERT OR \(verb) INTO t SELECT c1 FROM \($0)"
            }
            for key in keys {
                insert.addRow()
                insert.bind(key, at: 1)
            }
            let isWritten = try insert.runUnlessRefused()
            let again = try insert.runUnlessRefused()
            #expect(again && insert.count == 0)
            return isWritten
        }
        #expect(try !run("FAIL", ["a", "old"]))
        #expect(try !run("FAIL", [nil]))
        #expect(try !run("IGNORE", ["b", "old"]))
        #expect(try run("FAIL", ["c", "d"]))
    }

    @Test("look-ups give the rows in their order, also while another statement reads rows")
    func lookUps() throws {
        let connection = try makeConnection(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            INSERT INTO t VALUES (1, 'one'), (2, 'two'), (7, '7')
            """)
        let find = try RowStatement(width: 1, on: connection.handle) {
            "SELECT id FROM \($0) LEFT JOIN t ON name = +c1"
        }
        let copy = try RowStatement(width: 1, on: connection.handle) {
            "INSERT INTO t(name) SELECT c1 || ' again' FROM \($0)"
        }
        // Compared with a TEXT column, as a parameter is: the number is found.
        for key: Value in [.text("two"), .text("none"), .integer(7), .text("one")] {
            find.addRow()
            find.bind(key, at: 1)
        }
        var ids: [Int64?] = []
        try find.forEachRow { row in
            ids.append(row.integerOrNil(0))
            copy.addRow()
            copy.bind("\(ids.count)", at: 1)
            try copy.run()
        }
        #expect(ids == [2, nil, 7, 1])
        #expect(try rows("SELECT count(*) FROM t WHERE name LIKE '% again'", connection) == [[4]])
    }

    @Test("a row that was added last can be taken back, and all of them")
    func removal() throws {
        let connection = try makeConnection("CREATE TABLE t(x)")
        let insert = try RowStatement(width: 1, on: connection.handle) {
            "INSERT INTO t SELECT c1 FROM \($0)"
        }
        for number in 0..<1000 {
            insert.addRow()
            insert.bind(Int64(number), at: 1)
            if number % 2 == 1 { insert.removeNewestRow() }
        }
        try insert.run()
        #expect(try rows("SELECT count(*), sum(x) FROM t", connection) == [[500, 249_500]])
        insert.addRow()
        insert.removeRows()
        try insert.run()
        #expect(try rows("SELECT count(*) FROM t", connection) == [[500]])
    }

    @Test("what is much is full, and its memory is not kept")
    func memory() throws {
        let connection = try makeConnection("CREATE TABLE t(x)")
        let insert = try RowStatement(width: 1, on: connection.handle) {
            "INSERT INTO t SELECT c1 FROM \($0)"
        }
        var count = 0
        while !insert.isFull {
            insert.addRow()
            insert.bind([UInt8](repeating: 7, count: 10_000), at: 1)
            count += 1
        }
        #expect((90...110).contains(count))
        try insert.run()
        #expect(!insert.isFull)
        #expect(try rows("SELECT count(*) FROM t", connection) == [[.integer(Int64(count))]])
    }

    @Test("a schema cannot use the rows: no view or trigger reads them")
    func schemas() throws {
        let connection = try makeConnection("CREATE TABLE t(x)")
        _ = try RowStatement(width: 1, on: connection.handle) { "SELECT c1 FROM \($0)" }
        try RawTransaction.execute(
            "CREATE VIEW v AS SELECT c1 FROM syncd_rows_1", on: connection.handle)
        #expect(throws: SyncError.self) { try rows("SELECT * FROM v", connection) }
    }
}

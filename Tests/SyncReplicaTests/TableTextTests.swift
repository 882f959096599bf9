import Testing

@testable import SyncReplica

@Suite("Texts of tables")
struct TableTextTests {
    private static let sql =
        "CREATE TABLE t(id INTEGER PRIMARY KEY, \"a b\" TEXT DEFAULT (1, 2), c TEXT, UNIQUE(c))"

    @Test("a column is added after the last one, before the constraints")
    func adds() throws {
        var text = try #require(TableText(Self.sql))
        let other = try #require(
            TableText("CREATE TABLE x(k, [new one] INT NOT NULL DEFAULT 3 CHECK (k > 1), z)"))
        #expect(text.columns == ["id", "a b", "c"])
        let isAdded = text.add("New One", of: other)
        #expect(isAdded)
        #expect(
            text.sql
                == Self.sql.replacingOccurrences(
                    of: "c TEXT,", with: "c TEXT, [new one] INT NOT NULL DEFAULT 3 CHECK (k > 1),"))
        let isAddedAgain = text.add("new one", of: other)
        #expect(!isAddedAgain)
    }

    @Test(
        "a column that SQLite adds to no table with rows is not added",
        arguments: [
            "n PRIMARY KEY", "n UNIQUE", "n NOT NULL", "n AS (k + 1)", "n DEFAULT (1 + 1)",
            "n DEFAULT CURRENT_TIMESTAMP",
        ])
    func refuses(definition: String) throws {
        var text = try #require(TableText(Self.sql))
        let other = try #require(TableText("CREATE TABLE x(k, \(definition))"))
        let isAdded = text.add("n", of: other)
        #expect(!isAdded)
        #expect(text.sql == Self.sql)
    }

    @Test("a column is taken out, unless something names it")
    func removes() throws {
        var text = try #require(TableText(Self.sql))
        let columns = ["c", "A B"].map { text.remove($0) }
        #expect(columns == [false, true])
        #expect(text.sql == "CREATE TABLE t(id INTEGER PRIMARY KEY, c TEXT, UNIQUE(c))")
        var rest = try #require(TableText("CREATE TABLE t(a, b, c) STRICT"))
        let others = ["a", "c", "b"].map { rest.remove($0) }
        #expect(others == [true, true, false])
        #expect(rest.sql == "CREATE TABLE t(b) STRICT")
    }
}

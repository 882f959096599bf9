import SyncTesting
import Testing

@testable import SyncStorage

@Suite struct SQLNameTests {
    /// SQLite itself says which names it takes for equal.
    @Test(arguments: [
        ("Album", "ALBUM"), ("a b", "A B"), ("é", "É"), ("ß", "ẞ"), ("K", "\u{212a}"), ("_", "-"),
    ])
    func namesAreEqualWhenTheyAreForSQLite(first: String, second: String) throws {
        let db = try PlainConnection(":memory:")
        try db.run("CREATE TABLE \(SQLName.quoted(first))(x)")
        let areEqual = (try? db.rows("SELECT * FROM \(SQLName.quoted(second))")) != nil
        #expect((SQLName.folded(first) == SQLName.folded(second)) == areEqual)
    }

    @Test(arguments: ["select", "a\"b", "\"", "[x]", "it's", "a;b--c", "", "ünï", "e\u{301}"])
    func anyNameIsQuoted(name: String) throws {
        let db = try PlainConnection(":memory:")
        try db.run("CREATE TABLE t(\(SQLName.quoted(name)) INTEGER)")
        let names = try db.strings("SELECT name FROM pragma_table_info('t')")
        #expect(names.map { Array($0.utf8) } == [Array(name.utf8)])
    }

    @Test(arguments: ["", "it's", "''", "a\"b", "line\nbreak"])
    func anyTextIsALiteral(text: String) throws {
        let db = try PlainConnection(":memory:")
        #expect(try db.strings("SELECT \(SQLName.literal(text))") == [text])
    }

    @Test func ownNamesAreToldByTheirBeginning() {
        #expect(SQLName.isOwn("syncd_log") && SQLName.isOwn("SYNCD_x"))
        #expect(!SQLName.isOwn("syncdlog") && !SQLName.isOwn("my_syncd_log"))
    }

    /// A combining mark at the beginning makes one character with the quote before it.
    @Test(arguments: ["a", "\u{301}a", "a\u{301}", "\"\u{301}", "", "a\"\"b", "'\u{301}'"])
    func quotesAreTakenAway(name: String) {
        #expect(SQLName.unquoted(SQLName.quoted(name)).utf8.elementsEqual(name.utf8))
        #expect(SQLName.unquoted("[a]") == "a" && SQLName.unquoted("\"") == "\"")
        #expect(SQLName.isOwn("syncd_\u{301}"))
    }
}

import SyncStorage
import SyncTesting
import SyncValues
import Testing

/// Values and names as SQL text: SQLite reads back what was meant.
@Suite("SQL text of values and names")
struct LiteralTests {
    /// A quote with a combining mark behind it is one Character, and no quote, to `String`.
    private static let texts = [
        "", "plain", "it\u{27}s", "\u{27}\u{301}; DROP TABLE t --", "\u{22}\u{301}x", "\u{0}",
        "a\u{0}\u{27}\u{0}b", "\r\n", "\u{200D}\u{27}\u{200D}",
    ]

    @Test("a value is read as what it is")
    func values() throws {
        let folder = try TemporaryFolder()
        let connection = try PlainConnection(folder.file("a.db"))
        defer { connection.close() }
        let values: [Value] = [
            nil, .integer(.min), .integer(.max), 0.1, .real(.infinity), .real(-.infinity),
            .real(1e300), .real(.leastNonzeroMagnitude), .blob([]), .blob([0, 255]),
        ]
        for value in values + Self.texts.map(Value.text) {
            #expect(try connection.rows("SELECT \(value)") == [[value]])
        }
    }

    @Test("a name is read as what it is")
    func names() throws {
        let folder = try TemporaryFolder()
        let connection = try PlainConnection(folder.file("a.db"))
        defer { connection.close() }
        for (number, name) in Self.texts.enumerated() where !name.utf8.contains(0) && name != "" {
            try connection.run("CREATE TABLE t\(number)(\(SQLName.quoted(name)))")
            #expect(
                try connection.rows("SELECT name FROM pragma_table_info('t\(number)')")
                    == [[.text(name)]])
        }
    }
}

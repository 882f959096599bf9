import Glibc
import SyncClient
import SyncCore
import Testing
import Varlink

@testable import synctool

@Suite("Output for users")
struct OutputTests {
    private static let store = StoreID(String(repeating: "0", count: 31) + "1")

    private func transaction(
        author: String? = nil, context: String? = nil, process: Transaction.Process? = nil,
        _ changes: [Change]
    ) throws -> Transaction {
        let store = try #require(Self.store)
        return Transaction(
            token: try Token("1.\(store).1.7.0"), first: 5, timestamp: Timestamp(milliseconds: 0),
            author: author, context: context, process: process, origin: nil, flags: [.coalesced],
            changes: changes)
    }

    private func change(
        _ kind: Change.Kind, _ key: Int64, _ properties: [String] = [],
        tombstone: NamedValues? = nil, cause: Change.Cause = .direct
    ) throws -> Change {
        let store = try #require(Self.store)
        return Change(
            seq: key,
            object: ObjectID(store: store, entity: "Album", key: ObjectKey(.integer(key))),
            kind: kind, properties: properties, tombstone: tombstone, oldValues: nil, cause: cause)
    }

    @Test func headNamesWriterAndFlags() throws {
        let lines = TransactionText().lines(
            try transaction(
                author: "importer", context: "nightly",
                process: Transaction.Process(pid: 42, name: "python3"), []))
        #expect(lines.count == 1)
        #expect(lines[0].hasPrefix("#7  "))
        #expect(lines[0].hasSuffix("importer (nightly), python3[42]  [coalesced]"))
    }

    @Test func changesSayWhatHappened() throws {
        let kept = NamedValues([
            .init(name: "Title", value: "Load"), .init(name: "ArtistId", value: 50),
        ])
        let lines = TransactionText().lines(
            try transaction([
                change(.insert, 1), change(.update, 2, ["Title", "Year"]),
                change(.delete, 3, tombstone: kept, cause: .replace),
            ]))
        #expect(lines[0].contains("author unknown"))
        #expect(lines[1] == "    + Album/1")
        #expect(lines[2] == "    ~ Album/2  Title, Year")
        #expect(lines[3] == "    - Album/3  Title 'Load', ArtistId 50  by REPLACE")
    }

    @Test func largeTransactionsAreCutAndCounted() throws {
        let all = try transaction((1...30).map { try change(.insert, $0) })
        let lines = TransactionText().lines(all)
        #expect(lines.count == 1 + TransactionText.changesShown + 1)
        #expect(lines.last == "    … and 10 more changes")
        #expect(TransactionText(changesMax: .max).lines(all).count == 31)
    }

    @Test func valuesOfTheDatabaseCannotMoveTheCursor() {
        #expect(Printable.text("a\u{1B}[2Jb\n\u{202E}c") == "a\\u{1b}[2Jb\\n\\u{202e}c")
        #expect(Printable.text("Größe") == "Größe")
        #expect(Printable.text("abcdef", width: 4) == "abc…")
    }

    /// The same JSON, in characters that every terminal shows.
    @Test func jsonCannotMoveTheCursor() throws {
        let text = "a\u{9B}31m\u{7F}\u{202E}b\u{061C} Größe…"
        let json = JSONValue.string(text).description
        let shown = Printable.json(json)
        #expect(shown == "\"a\\u009b31m\\u007f\\u202eb\\u061c Größe…\"")
        #expect(try JSONParser.parse(Array(shown.utf8)).string == text)
    }

    @Test func anOutputThatCannotBeWrittenIsAnError() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let error = #expect(throws: SyncError.self) { try Terminal(descriptor: full).line("x") }
        #expect(error?.code == .diskFull)
        let closed = #expect(throws: SyncError.self) { try Terminal(descriptor: 9_999).line("x") }
        #expect(closed?.code == .ioError)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[1]) }
        close(ends[0])
        signal(SIGPIPE, SIG_IGN)
        #expect(throws: OutputClosed.self) { try Terminal(descriptor: ends[1]).line("x") }
    }

    @Test func tablesAlign() {
        var table = TextTable()
        table.add("a", "bb", "")
        table.add("ccc", "d", "e")
        #expect(table.lines(on: .output) == ["a    bb", "ccc  d   e"])
    }

    @Test func leases() {
        #expect(Lease(argument: "90s")?.duration == .seconds(90))
        #expect(Lease(argument: "7d")?.duration == .seconds(604_800))
        #expect(Lease(argument: "1 week")?.duration == .seconds(604_800))
        for wrong in ["", "d", "7", "-1d", "1.5h", "7x", "0d", "7 months", "99999999999d"] {
            #expect(Lease(argument: wrong) == nil, "\(wrong)")
        }
    }
}

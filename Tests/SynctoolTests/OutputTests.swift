import SyncClient
import SyncCore
import Testing

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

import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncStorage
@testable import SyncValues

/// Transactions that are assembled slice by slice: what is made of them is what would have been
/// made of them in memory.
@Suite struct LargeTransactionTests {
    private static let schema = [
        "CREATE TABLE parent(id INTEGER PRIMARY KEY, a TEXT, u TEXT UNIQUE)",
        """
        CREATE TABLE child(id INTEGER PRIMARY KEY, p INTEGER REFERENCES parent ON DELETE CASCADE,
          note TEXT)
        """,
        "CREATE TABLE leaf(id INTEGER PRIMARY KEY, c INTEGER REFERENCES child ON DELETE CASCADE)",
        "CREATE TABLE pair(x INTEGER, y TEXT, v, PRIMARY KEY(x, y)) WITHOUT ROWID",
    ]

    /// A change as it can be compared: without its place.
    private func text(_ change: NetChange) -> String {
        "\(change.kind.name) \(change.entity.name)/\(change.key) \(change.mask.positions) "
            + "\(change.kept) \(change.old) \(change.cause)"
    }

    private func slices(
        of header: NetTransaction, _ connection: OpaquePointer, catalog: EntityCatalog
    ) throws -> [NetChange] {
        let large = LargeTransaction(
            header, from: try LogReader(connection, catalog: catalog), sliceChangesMax: 3)
        var changes: [NetChange] = []
        while let slice = try large.nextSlice() { changes += slice }
        return changes.sorted { $0.seq < $1.seq }
    }

    @Test(arguments: TestSeed.each(of: 1...40))
    func theSlicesAreTheTransaction(seed: TestSeed) throws {
        var random = seed.random
        let database = try TestDatabase()
        for statement in Self.schema { try database.sql(statement) }
        try Store.track(database.path, options: ["pair": CaptureOptions(undo: true)])
        for _ in 0..<20 { try? database.sql(statement(&random)) }
        let first = try #require(database.rows("SELECT max(seq) FROM syncd_log").first?.first)
        guard case .integer(let start) = first else { return }
        // Rows that name one key each are counted otherwise.
        let isPlain = Bool.random(using: &random)
        try database.sql("BEGIN")
        for _ in 0..<Int.random(in: 1..<80, using: &random) {
            // A statement may break a constraint: it changes nothing then.
            try? database.sql(isPlain ? plainStatement(&random) : statement(&random))
        }
        try database.sql("COMMIT")

        let connection = try PlainConnection(database.path)
        defer { connection.close() }
        let end = try connection.integer("SELECT max(seq) FROM syncd_log")
        guard end > start else { return }
        let catalog = try EntityCatalog(connection.handle)
        for isExact in [true, false] {
            let boundary = Boundary(last: end, isExact: isExact)
            func all(_ limit: AssemblyLimit) throws -> [NetTransaction] {
                var found: [NetTransaction] = []
                let reader = try LogReader(connection.handle, catalog: catalog)
                try TransactionAssembler(reader, limit: limit).forEach(
                    after: start, in: [boundary]
                ) {
                    found.append($0)
                    return true
                }
                return found
            }
            let whole = try all(.none).first
            let header = try all(AssemblyLimit(changesMax: 0, bytesMax: .max)).first
            guard let header else {
                #expect(whole == nil, "\(seed)")
                continue
            }
            #expect(header.unassembled != nil && header.changes.isEmpty, "\(seed)")
            let changes = try slices(of: header, connection.handle, catalog: catalog)
            #expect(
                changes.map(text).sorted() == (whole?.changes ?? []).map(text).sorted(), "\(seed)")
            #expect(Set(changes.map(\.seq)).count == changes.count, "\(seed)")
            if let whole {
                #expect(
                    header.number == whole.number && header.first == whole.first
                        && header.time == whole.time && header.flags == whole.flags, "\(seed)")
            }
            expectParentsFirst(changes, seed)
            let written = try [.none, AssemblyLimit(changesMax: 0, bytesMax: .max)].map {
                try history(of: boundary, after: start, within: $0, connection, catalog)
            }
            #expect(written[0] == written[1], "\(seed)")
        }
    }

    /// What ``LogDigest`` writes, as it can be compared: without the places of the changes.
    private func history(
        of boundary: Boundary, after start: Int64, within limit: AssemblyLimit,
        _ connection: PlainConnection, _ catalog: EntityCatalog
    ) throws -> [[Value]] {
        try connection.run("BEGIN")
        defer { try? connection.run("ROLLBACK") }
        try connection.run("DELETE FROM syncd_change; DELETE FROM syncd_transaction")
        let digest = try LogDigest(connection.handle, catalog: catalog, limit: limit)
        try digest.write(
            after: start, in: [boundary], to: try HistoryWriter(connection.handle))
        return try connection.rows("SELECT op, key FROM syncd_change ORDER BY op, key")
            + connection.rows("SELECT number, first, time, flags FROM syncd_transaction")
    }

    private func expectParentsFirst(_ changes: [NetChange], _ seed: TestSeed) {
        for (index, change) in changes.enumerated() {
            guard case .cascade(let entity, let key) = change.cause else { continue }
            #expect(
                changes[..<index].contains { $0.entity.id == entity && $0.key == key },
                "\(seed): \(text(change))")
        }
    }

    /// A statement that changes no key and deletes nothing that others refer to.
    private func plainStatement(_ random: inout SeededRandom) -> String {
        let id = Int.random(in: 1..<40, using: &random)
        let text = "t\(Int.random(in: 1..<100, using: &random))"
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: return "INSERT INTO parent VALUES (\(id), '\(text)', '\(text)')"
        case 2: return "UPDATE parent SET a = '\(text)' WHERE id = \(id)"
        case 3: return "UPDATE OR IGNORE parent SET u = '\(text)' WHERE id >= \(id)"
        case 4: return "INSERT INTO pair VALUES (\(id), '\(text)', 0)"
        case 5: return "UPDATE pair SET v = v + 1 WHERE x <= \(id)"
        case 6: return "INSERT OR REPLACE INTO pair VALUES (\(id), '\(text)', \(id))"
        default: return "DELETE FROM pair WHERE x = \(id)"
        }
    }

    private func statement(_ random: inout SeededRandom) -> String {
        let id = Int.random(in: 1..<12, using: &random)
        let other = Int.random(in: 1..<12, using: &random)
        let text = "t\(Int.random(in: 1..<30, using: &random))"
        switch Int.random(in: 0..<17, using: &random) {
        case 0, 1: return "INSERT INTO parent VALUES (\(id), '\(text)', '\(text)')"
        case 2: return "INSERT OR REPLACE INTO parent VALUES (\(id), '\(text)', '\(text)')"
        case 3: return "UPDATE parent SET a = '\(text)' WHERE id = \(id)"
        case 4: return "UPDATE OR REPLACE parent SET u = '\(text)' WHERE id = \(id)"
        case 5: return "UPDATE OR IGNORE parent SET id = \(other) WHERE id = \(id)"
        case 6: return "DELETE FROM parent WHERE id = \(id)"
        case 7, 8: return "INSERT INTO child VALUES (\(id), \(other), '\(text)')"
        case 9: return "UPDATE child SET note = '\(text)' WHERE id >= \(id)"
        case 10: return "DELETE FROM child WHERE id = \(id)"
        case 11: return "INSERT INTO leaf VALUES (\(id), \(other))"
        case 12: return "DELETE FROM leaf WHERE id = \(id)"
        case 13: return "INSERT INTO pair VALUES (\(id), '\(text)', \(other))"
        case 14: return "UPDATE pair SET v = v + 1 WHERE x <= \(id)"
        case 15: return "UPDATE OR REPLACE pair SET x = \(other) WHERE x = \(id)"
        default: return "DELETE FROM pair WHERE x = \(id)"
        }
    }

    /// Beyond the limit the digest writes what it would have written, over many calls, beside
    /// later commits.
    @Test func aLargeTransactionIsDigestedInSlices() throws {
        let database = try TestDatabase(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, b)",
            "INSERT INTO item VALUES (0,'',0)")
        let store = try database.store()
        try database.sql(
            """
            BEGIN; INSERT INTO syncd_txn(author) VALUES ('large');
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000)
            INSERT INTO item SELECT i, 'n' || i, i FROM n;
            UPDATE item SET b = -1 - b WHERE id % 2 = 0; DELETE FROM item WHERE id % 10 = 3;
            INSERT INTO syncd_txn(author) VALUES (NULL); COMMIT
            """)
        try database.sql("UPDATE item SET a = 'later' WHERE id = 7")
        var calls = 0
        while try store.digest(budget: .milliseconds(1)) { calls += 1 }
        #expect(calls > 3)
        var kinds: [String: Int] = [:]
        var last: Int64 = 0
        let history = try store.history()
        #expect(history.count == 2 && history[0].author == "large")
        for change in history[0].changes {
            kinds[change.kind.name, default: 0] += 1
            #expect(change.seq > last)
            last = change.seq
        }
        // What was inserted and deleted in it leaves nothing; the update of row 0 remains.
        #expect(kinds == ["insert": 40500, "update": 1])
        #expect(history[1].changes.first?.object.incarnation == history[0].number)
    }

    @Test func nothingRemainsOfALargeTransactionWithoutEffect() throws {
        let database = try TestDatabase("CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT)")
        let store = try database.store()
        try database.sql(
            """
            BEGIN;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
            INSERT INTO item SELECT i, 'n' || i FROM n;
            DELETE FROM item; COMMIT
            """)
        try database.sql("INSERT INTO item VALUES (1, 'later')")
        _ = try store.digest()
        #expect(try store.history().map(\.summary) == ["insert item/1"])
    }

    /// Large by its values, not by its rows.
    @Test func aTransactionOfLargeValuesIsNotAssembledInMemory() throws {
        let database = try TestDatabase(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a BLOB)",
            "INSERT INTO item VALUES (1, randomblob(9000000)), (2, randomblob(9000000))")
        let store = try database.store()
        _ = try store.poll()
        try database.sql("DELETE FROM item")
        let look = try store.poll()
        #expect(look.tooLarge && look.transactions.isEmpty)
        let history = try store.history()
        #expect(history.map(\.summary) == ["delete item/1, delete item/2"])
        #expect(try store.digest() == false)
        #expect(try store.history() == history)
    }
}

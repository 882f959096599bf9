import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Databases that were tracked apart and become replicas of one store.
@Suite("Joining", .timeLimit(.minutes(15)))
struct JoinTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT UNIQUE COLLATE NOCASE, name TEXT);
        CREATE TABLE visit(id INTEGER PRIMARY KEY, person INTEGER REFERENCES person(id),
          day TEXT, note TEXT, UNIQUE(person, day));
        CREATE TABLE word(text TEXT PRIMARY KEY NOT NULL, hits INTEGER);
        """

    @Test("a table with a key of another kind refuses the join, and the history stays")
    func otherKey() throws {
        let a = try TestStore(
            folder.file("a.db"), schema: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, t TEXT)")
        try a.run("INSERT INTO note VALUES ('x', 'of a')")
        let path = folder.file("b.db")
        let b = try TestStore(path, schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, t TEXT)")
        try b.run("INSERT INTO note VALUES (1, 'of b')")
        try b.replica.close()
        let copy = folder.file("copy.db")
        try StoreReplica.clone(
            at: copy, from: a.replica.batches(since: VersionVector())
        ).close()
        let (id, count) = try history(of: path)
        #expect(count > 0)
        let error = #expect(throws: SyncError.self) {
            try Store.join(path, to: copy, by: .byKey)
        }
        #expect(error?.code == .refused && error?.hint?.contains("RENAME TO note_2") == true)
        #expect(try history(of: path) == (id, count))
    }

    private func history(of path: String) throws -> (StoreID, Int) {
        let store = try Store.open(path)
        defer { try? store.close() }
        return (store.id, try store.count(HistoryQuery()).transactions)
    }

    private func stores(_ method: JoinMethod) throws -> (TestStore, TestStore, JoinReport) {
        let a = try TestStore(
            folder.file("a.db"),
            schema: Self.schema + """
                INSERT INTO person VALUES (1, 'ann@x', 'Ann'), (2, 'bob@x', 'Bob');
                """)
        try a.run(
            """
            INSERT INTO person VALUES (3, 'eve@x', 'Eve');
            INSERT INTO visit VALUES (1, 1, 'mon', 'a1'), (2, 3, 'tue', 'a2');
            INSERT INTO word VALUES ('hello', 1);
            """)
        let path = folder.file("b.db")
        let b = try TestStore(
            path,
            schema: Self.schema + """
                INSERT INTO person VALUES (1, 'EVE@x', 'Eva'), (2, 'bob@x', 'Bob'), (7, 'joe@x', 'Joe');
                INSERT INTO visit VALUES (1, 1, 'tue', 'b1'), (2, 7, 'mon', 'b2');
                INSERT INTO word VALUES ('hello', 2), ('bye', 1);
                """)
        try b.replica.close()
        let copy = folder.file("copy.db")
        let batches = try a.replica.batches(since: VersionVector())
        try StoreReplica.clone(at: copy, from: batches).close()
        let report = try Store.join(path, to: copy, by: method)
        let joined = try TestStore(path, StoreReplica(path))
        for _ in 0..<2 {
            for (from, to) in [(joined, a), (a, joined)] {
                for batch in try from.replica.batches(since: try to.replica.vector) {
                    #expect(try to.replica.merge(batch))
                }
            }
        }
        for store in [a, joined] {
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
            #expect(try store.rows("SELECT 1 FROM sqlite_schema WHERE name = 'syncd_join'").isEmpty)
        }
        for query in [Self.people, Self.visits, "SELECT * FROM word ORDER BY 1"] {
            #expect(try a.rows(query) == joined.rows(query))
        }
        #expect(try a.replica.openConflicts() == joined.replica.openConflicts())
        return (a, joined, report)
    }

    private static let people = "SELECT lower(mail), name FROM person ORDER BY 1, 2"
    private static let visits = """
        SELECT lower(mail), day, note FROM visit v JOIN person p ON p.id = v.person ORDER BY 1, 2, 3
        """

    @Test("a database with policies that were chosen, and nothing stated, joins")
    func chosenPolicies() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let path = folder.file("b.db")
        let b = try TestStore(path, schema: Self.schema)
        try b.replica.setPolicies(MergePolicies(entities: ["person": .init(identity: .shared)]))
        try b.replica.close()
        let copy = folder.file("copy.db")
        let batches = try a.replica.batches(since: VersionVector())
        try StoreReplica.clone(at: copy, from: batches).close()
        #expect(try Store.join(path, to: copy, by: .byKey).hasDroppedPolicies)
        let joined = try TestStore(path, StoreReplica(path))
        // Those of the store hold.
        #expect(try joined.replica.policies().entities.isEmpty)
        try a.run("INSERT INTO word VALUES ('new', 1)")
        try TestStore.sync(a, joined)
        #expect(try joined.rows("SELECT count(*) FROM word") == [[1]])
    }

    @Test("each matched row is looked up by its key")
    func matchesUseTheIndex() throws {
        let store = try TestStore(folder.file("plan.db"), schema: Self.schema)
        _ = try store.replica.vector
        try store.run("ATTACH '\(store.path)' AS theirs")
        try store.run(JoinMatch.createPairsSQL)
        try store.run(JoinedNames.createSQL)
        let plan = try store.rows("EXPLAIN QUERY PLAN " + JoinMatch.insertIdentitiesSQL)
        #expect("\(plan)".contains("syncd_object_key (key=?"))
    }

    @Test("a join that fails leaves the store and its history as they were")
    func failedJoin() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        try a.run("INSERT INTO word VALUES ('hello', 1)")
        let path = folder.file("b.db")
        let b = try TestStore(path, schema: Self.schema)
        try b.run("INSERT INTO word VALUES ('bye', 1)")
        try b.replica.close()
        let copy = folder.file("copy.db")
        try StoreReplica.clone(at: copy, from: a.replica.batches(since: VersionVector())).close()
        // Found when the rows are matched, after all that can be checked before.
        try PlainConnection(copy).run("DROP TABLE syncd_header")
        func state() throws -> (StoreID, Int, [[Value]]) {
            let store = try Store.open(path)
            defer { try? store.close() }
            return (
                store.id, try store.count(HistoryQuery()).transactions,
                try b.rows("SELECT name FROM sqlite_schema ORDER BY 1")
            )
        }
        let before = try state()
        #expect(throws: SyncError.self) { try Store.join(path, to: copy, by: .separate) }
        let after = try state()
        #expect(before.1 == 1 && after == before)
        try b.run("INSERT INTO word VALUES ('again', 1)")
        #expect(try state().1 == 2)
    }

    /// Everything that anybody wrote is shown, or in the conflict log.
    private func check(_ store: TestStore, _ texts: [String]) throws {
        var seen: Set<String> = []
        for (_, rows) in try store.dump() {
            for case .text(let text) in rows.joined() { seen.insert(text) }
        }
        for conflict in try store.replica.conflicts() {
            for pair in conflict.losing.values.pairs {
                if case .text(let text) = pair.value { seen.insert(text) }
            }
        }
        for text in texts {
            #expect(
                seen.contains { $0.lowercased() == text.lowercased() }, "\(text): \(seen)")
        }
    }

    private static let everything = [
        "ann@x", "bob@x", "eve@x", "joe@x", "Ann", "Bob", "Eve", "Eva", "Joe", "a1", "a2", "b1",
        "b2", "hello", "bye",
    ]

    @Test("by unique: equal UNIQUE values are the same object, also through references")
    func byUnique() throws {
        let (a, b, report) = try stores(.byUnique)
        #expect(report.same == 3, "eve, bob, and eve's visit on Tuesday")
        #expect(try a.rows("SELECT count(*) FROM person") == [[.integer(4)]])
        #expect(try a.rows("SELECT count(*) FROM visit") == [[.integer(3)]])
        #expect(try b.rows("SELECT id FROM person WHERE mail = 'joe@x'") == [[.integer(7)]])
        #expect(try b.rows("SELECT id FROM person WHERE mail = 'eve@x'") == [[.integer(1)]])
        #expect(try a.rows("SELECT id FROM person WHERE mail = 'eve@x'") == [[.integer(3)]])
        try check(a, Self.everything)
    }

    @Test("by key: equal keys are the same object")
    func byKey() throws {
        let (a, _, report) = try stores(.byKey)
        #expect(report.same == 4, "persons 1 and 2, visits 1 and 2")
        try check(a, Self.everything)
    }

    @Test("separate: no numbered rows are the same; what UNIQUE forbids is in the log")
    func separate() throws {
        let (a, _, report) = try stores(.separate)
        #expect(report.same == 0)
        try check(a, Self.everything)
        #expect(try a.rows("SELECT count(*) FROM word") == [[.integer(2)]])
    }

    @Test("values from before the join are older than all that was written in the store")
    func oldValuesLose() throws {
        let schema = """
            CREATE TABLE person(id INTEGER PRIMARY KEY, phone TEXT, fax TEXT);
            INSERT INTO person VALUES (1, 'old phone', 'old fax');
            """
        let a = try TestStore(folder.file("a.db"), schema: schema)
        let b = try TestStore(folder.file("b.db"), schema: schema)
        try a.run("UPDATE person SET phone = 'new phone'")
        let snapshot = try a.replica.batches(since: VersionVector())
        try b.run("UPDATE person SET fax = 'before'")
        try b.replica.close()
        try StoreReplica.clone(at: folder.file("copy.db"), from: snapshot).close()
        _ = try Store.join(b.path, to: folder.file("copy.db"), by: .byKey)
        let joined = try TestStore(b.path, StoreReplica(b.path))
        try joined.run("INSERT INTO person VALUES (2, 'b', 'b')")
        try TestStore.sync(a, joined)
        for store in [a, joined] {
            #expect(
                try store.rows("SELECT phone FROM person ORDER BY phone") == [["b"], ["new phone"]])
            #expect(try store.rows("SELECT fax FROM person WHERE id = 1") == [["old fax"]])
        }
        let lost = try a.replica.conflicts().flatMap { $0.losing.values.pairs.map(\.value) }
        #expect(Set(lost) == ["old phone", "before"])
    }

    @Test("separate: without UNIQUE everything is there twice")
    func everythingTwice() throws {
        let schema = "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);"
        let rows = "INSERT INTO note VALUES (1, 'same'), (2, 'same');"
        let a = try TestStore(folder.file("a.db"), schema: schema + rows)
        let b = try TestStore(folder.file("b.db"), schema: schema + rows)
        try b.replica.close()
        let snapshot = try a.replica.batches(since: VersionVector())
        try StoreReplica.clone(at: folder.file("copy.db"), from: snapshot).close()
        _ = try Store.join(b.path, to: folder.file("copy.db"), by: .separate)
        let joined = try StoreReplica(b.path)
        for batch in try a.replica.batches(since: VersionVector()) { _ = try joined.merge(batch) }
        for batch in try joined.batches(since: a.replica.vector) { _ = try a.replica.merge(batch) }
        #expect(try a.rows("SELECT count(*) FROM note") == [[.integer(4)]])
        #expect(try joined.conflicts().isEmpty)
        try joined.close()
    }
}

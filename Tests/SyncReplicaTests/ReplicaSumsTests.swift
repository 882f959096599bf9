import SyncMerge
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncReplica
@testable import SyncValues

/// Replicas that have merged the same transactions prove to each other that they are equal.
@Suite("Replica sums")
struct ReplicaSumsTests {
    private static let schema = """
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, year INTEGER);
        CREATE TABLE artist(name TEXT PRIMARY KEY, born INTEGER);
        INSERT INTO album(title, year) VALUES ('one', 1), ('two', 2), ('three', 3);
        INSERT INTO artist VALUES ('a', 1), ('b', 2);
        """

    /// Has both compare what the other one states.
    private func compare(
        _ a: TestStore, _ b: TestStore
    ) throws -> (a: [StateDifference], b: [StateDifference]) {
        let (ours, theirs) = (try a.replica.sums, try b.replica.sums)
        return (
            try a.replica.compare(theirs.map { [b.replica.replicaID: $0] } ?? [:]),
            try b.replica.compare(ours.map { [a.replica.replicaID: $0] } ?? [:])
        )
    }

    private func count(_ store: TestStore) throws -> Int64 {
        try Store.comparisons(store.path).reduce(0) { $0 + $1.count }
    }

    @Test("each exchange is compared once, and equal replicas are found equal")
    func ordinaryLife() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        for round in 1...5 {
            try a.run("UPDATE album SET title = 'a\(round)' WHERE id = \(round % 3 + 1)")
            try b.run(
                "UPDATE album SET year = \(round * 10); INSERT INTO artist VALUES('c\(round)', 0)")
            try b.run("DELETE FROM artist WHERE name = 'c\(round - 1)'")
            try TestStore.sync(a, b)
            let found = try compare(a, b)
            #expect(found.a.isEmpty && found.b.isEmpty)
            #expect(try count(a) == Int64(round) && count(b) == Int64(round))
            _ = try compare(a, b)
            #expect(try count(a) == Int64(round), "the same statement counts once")
        }
        let comparison = try #require(try Store.comparisons(a.path).first)
        #expect(comparison.isEqual && comparison.replica == b.replica.replicaID)
    }

    @Test("a fact that was changed past the program is told on both sides, with its table")
    func changedRecord() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        try b.run(
            """
            UPDATE syncd_object SET record = CAST(replace(record, 'two', 'TWO') AS BLOB)
            WHERE instr(record, 'two')
            """)
        #expect(try compare(a, b).a.isEmpty, "nobody has looked at the facts")
        #expect(try b.replica.mendSums() == ["album"])
        let found = try compare(a, b)
        #expect(found.a == [.init(replica: b.replica.replicaID, entities: ["album"])])
        #expect(found.b == [.init(replica: a.replica.replicaID, entities: ["album"])])
        #expect(try Store.comparisons(a.path).first?.problem?.contains("album") ?? false)
        // It stays until a comparison holds.
        #expect(try a.replica.compare([:]) == found.a)
        try b.run(
            """
            UPDATE syncd_object SET record = CAST(replace(record, 'TWO', 'two') AS BLOB)
            WHERE instr(record, 'TWO')
            """)
        #expect(try b.replica.mendSums() == ["album"])
        #expect(try compare(a, b).a.isEmpty)
        #expect(try compare(a, b).b.isEmpty)
    }

    @Test("a fact that is lost in a merge is told at once: its sum changes with it")
    func lostFact() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        // The next write of the object begins with what is stored.
        try b.run("UPDATE syncd_total SET facts = zeroblob(16) WHERE shape = 1")
        try b.run("UPDATE album SET title = 'new' WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(try compare(a, b).a.map(\.entities) == [["album"]])
        #expect(try compare(a, b).b.map(\.entities) == [["album"]])
    }

    @Test("between two batches of one push nothing is stated, and afterwards it is")
    func partsOfAPush() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        try a.run(
            """
            BEGIN; UPDATE album SET title = 'first' WHERE id = 1;
            UPDATE artist SET born = 9 WHERE name = 'a'; COMMIT
            """)
        let early = try #require(try a.replica.sums)
        try a.run("UPDATE album SET title = 'second' WHERE id = 1")
        _ = try a.replica.vector
        let batches = try a.replica.batches(since: b.replica.vector, factsMax: 1)
        try #require(batches.count == 2, "the first one lacks the fact that the second overwrites")
        let goal = try BatchEnvelope.read(try #require(batches.last)).envelope.upTo
        #expect(try b.replica.merge(batches[0], isAlone: false, goal: goal))
        #expect(try b.replica.sums == nil)
        #expect(try b.replica.compare([a.replica.replicaID: early]).isEmpty)
        #expect(try b.replica.merge(batches[1], isAlone: false, goal: goal))
        #expect(try b.replica.sums != nil)
        #expect(try compare(a, b).b.isEmpty)
        #expect(try count(b) > 0)
    }

    @Test("without its goal the same part would be a false alarm: what the goal is for")
    func partWithoutItsGoal() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        try a.run(
            """
            BEGIN; UPDATE album SET title = 'first' WHERE id = 1;
            UPDATE artist SET born = 9 WHERE name = 'a'; COMMIT
            """)
        let early = try #require(try a.replica.sums)
        try a.run("UPDATE album SET title = 'second' WHERE id = 1")
        let batches = try a.replica.batches(since: b.replica.vector, factsMax: 1)
        try #require(batches.count == 2)
        _ = try b.replica.merge(batches[0])
        _ = try b.replica.sums
        #expect(try !b.replica.compare([a.replica.replicaID: early]).isEmpty)
    }

    @Test("a store of an earlier version, and one whose sums were dropped, computes them again")
    func earlierStore() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        let before = try #require(try b.replica.sums)
        try b.replica.close()
        try b.run("DROP TABLE syncd_total; DROP TABLE syncd_sum; DROP TABLE syncd_met")
        let again = try TestStore(b.path, StoreReplica(b.path))
        #expect(try again.replica.sums == before)
        #expect(try Store.comparisons(b.path).isEmpty)
        #expect(try Store.integrity(b.path).isEmpty)
    }

    @Test("replicas with different columns are compared again when both have the column")
    func differentSchemas() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        try a.run("ALTER TABLE album ADD COLUMN stars INTEGER DEFAULT 3")
        try a.run("UPDATE album SET stars = 5 WHERE id = 1; INSERT INTO album(title) VALUES ('x')")
        try b.run("INSERT INTO album(title) VALUES ('y'); UPDATE artist SET born = 5")
        try TestStore.sync(a, b)
        #expect(try compare(a, b).a.isEmpty)
        #expect(try count(a) == 1, "the artists can be compared")
        for path in [a.path, b.path] {
            let comparison = try #require(try Store.comparisons(path).first)
            #expect(comparison.isEqual && comparison.uncompared == ["album"])
        }
        try b.run("ALTER TABLE album ADD COLUMN stars INTEGER DEFAULT 3")
        try TestStore.sync(a, b)
        let found = try compare(a, b)
        #expect(found.a.isEmpty && found.b.isEmpty)
        #expect(try Store.comparisons(a.path).first?.uncompared == [])
        let (ours, theirs) = (try a.replica.sums, try b.replica.sums)
        #expect(ours == theirs, "all tables are stated alike")
        #expect(try b.dump()["album"]?.count == 5)
        try b.run("UPDATE syncd_total SET facts = zeroblob(16) WHERE shape = 1")
        try b.run("UPDATE album SET stars = 1 WHERE id = 1")
        try TestStore.sync(a, b)
        #expect(try compare(a, b).a.map(\.entities) == [["album"]], "the albums are compared, too")
    }

    /// A part of a push is merged with the column, where nothing is stated: the total of before does
    /// not have it.
    @Test("sums are right after a column came and went between two batches of one push")
    func columnBetweenParts() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        try a.run(
            """
            BEGIN; UPDATE album SET title = 'first' WHERE id = 1;
            UPDATE album SET title = 'other' WHERE id = 2; COMMIT
            """)
        _ = try a.replica.vector
        try a.run("UPDATE album SET title = 'second' WHERE id = 1")
        let batches = try a.replica.batches(since: b.replica.vector, factsMax: 1)
        try #require(batches.count == 2)
        let goal = try BatchEnvelope.read(batches[1]).envelope.upTo
        try b.run("ALTER TABLE album ADD COLUMN stars")
        #expect(try b.replica.merge(batches[0], isAlone: false, goal: goal))
        #expect(try b.replica.sums == nil)
        _ = try Store.alter(b.path, running: "ALTER TABLE album DROP COLUMN stars")
        #expect(try b.replica.merge(batches[1], isAlone: false, goal: goal))
        #expect(try b.replica.mendSums() == [])
        #expect(try b.dump() == a.dump())
    }

    @Test("a table that only one has is not compared, and without any other nothing is equal")
    func tablesOfOneReplica() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(
            in: folder, schema: "CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT)")
        try a.run("CREATE TABLE note(id INTEGER PRIMARY KEY); INSERT INTO album VALUES (1, 'one')")
        try TestStore.sync(a, b)
        _ = try compare(a, b)
        #expect(try Store.comparisons(a.path).first?.uncompared == ["note"])
        #expect(
            try Store.comparisons(b.path).first?.uncompared == ["a table that is not here"])
        try a.run("ALTER TABLE album ADD COLUMN year")
        try b.run("ALTER TABLE album ADD COLUMN stars")
        try TestStore.sync(a, b)
        #expect(try compare(a, b).a.isEmpty)
        let comparison = try #require(try Store.comparisons(a.path).first)
        #expect(!comparison.isEqual && comparison.isNone && comparison.problem == nil)
        #expect(comparison.uncompared == ["album", "note"] && comparison.count == 1)
    }

    @Test("new policies, a collection and a renewed identity raise no alarm")
    func otherChanges() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try a.run("DELETE FROM album WHERE id = 2")
        try TestStore.sync(a, b)
        try a.replica.setPolicies(
            MergePolicies(entities: ["album": .init(columns: ["year": .counter])]))
        try a.run("UPDATE album SET year = year + 1")
        try b.run("UPDATE album SET year = year + 2")
        try TestStore.sync(a, b)
        for _ in 0..<3 {
            try a.replica.noteAcknowledged([b.replica.replicaID: b.replica.vector])
            _ = try a.replica.collect()
        }
        let found = try compare(a, b)
        #expect(found.a.isEmpty && found.b.isEmpty)
        try b.run("INSERT INTO album(title) VALUES ('unsent')")
        _ = try b.replica.vector
        _ = try b.replica.renewIdentity()
        try b.replica.close()
        let renewed = try TestStore(b.path, StoreReplica(b.path))
        try TestStore.sync(a, renewed)
        #expect(try compare(a, renewed).a.isEmpty)
        #expect(try compare(a, renewed).b.isEmpty)
        #expect(try count(a) > 1)
    }

    @Test("each replica keeps 64 moments, so that one that lags behind can be compared")
    func entries() throws {
        let folder = try TemporaryFolder()
        let (a, b) = try TestStore.pair(in: folder, schema: Self.schema)
        try TestStore.sync(a, b)
        let theirs = try #require(try b.replica.sums)
        for number in 1...63 {
            try a.run("UPDATE album SET year = \(number)")
            _ = try a.replica.sums
        }
        #expect(try a.rows("SELECT count(*) FROM syncd_sum") == [[.integer(64)]])
        _ = try a.replica.compare([b.replica.replicaID: theirs])
        #expect(try count(a) == 1)
        try a.run("UPDATE album SET year = 0")
        _ = try a.replica.sums
        #expect(try a.rows("SELECT count(*) FROM syncd_sum") == [[.integer(64)]])
    }
}

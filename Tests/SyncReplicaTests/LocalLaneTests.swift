import SyncTesting
import Testing

@testable import SyncReplica

/// What writers of this replica did is stated row by row where no view is needed, and by one
/// elsewhere: every table is the same but for the numbers of the rows of `syncd_object`.
@Suite("Local lane")
struct LocalLaneTests {
    /// A long run: `swift run -c release syncsim --kind files --both --schedules plain --count 1000`.
    @Test("both ways write the same into every table", arguments: [UInt64(2000)])
    func equalWays(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let lane = try StoreSimulation.$isVerifying.withValue(false) {
            try StoreSimulation.$comparesLanes.withValue(true) {
                try StoreSimulation.run(seed: seed, steps: 6, schedules: .plain, in: folder.path)
                    .lane
            }
        }
        #expect(lane.stated > 0)
    }

    private static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born REAL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, code TEXT UNIQUE,
          artist INTEGER REFERENCES artist(id) ON DELETE SET NULL);
        CREATE TABLE tag(word TEXT PRIMARY KEY, note BLOB);
        CREATE TABLE tagged(album INTEGER REFERENCES album(id), tag TEXT REFERENCES tag(word),
          weight REAL, PRIMARY KEY (album, tag));
        CREATE TABLE range(id INTEGER PRIMARY KEY, low INTEGER, high INTEGER, CHECK (low <= high));
        INSERT INTO artist VALUES (1, 'Ana', 1970.5), (2, 'Bo', NULL);
        INSERT INTO album VALUES (1, 'One', 'a', 1), (2, 'Two', NULL, NULL);
        INSERT INTO tag VALUES ('red', X'00'), ('blue', X'');
        INSERT INTO tagged VALUES (1, 'red', 0.5);
        INSERT INTO range VALUES (1, 2, 3);
        """

    @Test(
        "what is written into plain rows is stated row by row",
        arguments: [
            "UPDATE artist SET name = 'Eva' WHERE id = 1",
            "UPDATE artist SET name = 'Eva'; UPDATE artist SET born = 1.5 WHERE id = 2",
            "UPDATE artist SET name = name",
            "REPLACE INTO artist VALUES (1, 'Eva', 1)",
            "UPDATE artist SET born = -0.0; UPDATE artist SET born = 0.0",
            "UPDATE album SET artist = 2, code = 'b' WHERE id = 1",
            "UPDATE album SET artist = NULL; UPDATE album SET artist = 1 WHERE id = 2",
            "UPDATE tag SET note = X'FF' WHERE word = 'red'",
            "UPDATE tag SET note = zeroblob(20000) WHERE word = 'red'|UPDATE tag SET note = X'01'",
            "UPDATE tagged SET weight = 2",
            "UPDATE range SET low = 3, high = 4",
            "INSERT INTO artist VALUES (3, CAST(X'61FF62' AS TEXT), 7); UPDATE artist SET born = 8",
            """
            INSERT INTO tag VALUES ('new', 'text'), ('ä😀', 1);
            INSERT INTO album VALUES (9, 'Nine', 'n', 1);
            INSERT INTO tagged VALUES (9, 'new', 1), (9, 'red', NULL), (2, 'ä😀', 3);
            UPDATE tagged SET weight = 4 WHERE album = 9
            """,
            "PRAGMA foreign_keys = OFF; INSERT INTO album VALUES (9, 'x', 'y', 3); "
                + "INSERT INTO artist VALUES (3, 'late', 1)",
            "DELETE FROM album WHERE id = 2",
            "UPDATE album SET title = 'x' WHERE id = 2; DELETE FROM album WHERE id = 2",
            "PRAGMA foreign_keys = ON; DELETE FROM artist WHERE id = 1",
            "DELETE FROM tagged; DELETE FROM album; DELETE FROM tag; INSERT INTO range VALUES (2, 1, 1)",
            "DELETE FROM album WHERE id = 2|INSERT INTO album VALUES (2, 'Two', 'b', 1)",
            """
            INSERT INTO range VALUES (2, 1, 1); INSERT INTO tag VALUES ('x', 1);
            UPDATE range SET high = 9 WHERE id = 2; UPDATE tag SET note = 2; DELETE FROM range;
            DELETE FROM tag WHERE word = 'x'; INSERT INTO range VALUES (3, 1, 1)
            """,
            "DELETE FROM range; INSERT INTO range VALUES (1, 2, 3); UPDATE range SET high = 4",
            "BEGIN; DELETE FROM range; INSERT INTO range VALUES (1, 2, 3); COMMIT",
            """
            UPDATE range SET low = 0; DELETE FROM range; INSERT INTO range VALUES (1, 2, 3);
            DELETE FROM tag WHERE word = 'blue'; INSERT INTO tag VALUES ('blue', 2)
            """,
            """
            PRAGMA foreign_keys = OFF; DELETE FROM album WHERE id = 1;
            INSERT INTO album VALUES (1, 'Again', 'a', 2); UPDATE tagged SET weight = 3
            """,
            "DELETE FROM album WHERE id = 2|INSERT INTO album VALUES (3, 'Two', 'b', 1); DELETE FROM range",
        ])
    func plainRows(sql: String) throws {
        let tally = try Self.tally(after: sql)
        #expect(tally.statementRefusals == [:], "\(sql)")
        #expect(tally.regionObjects == 0, "\(sql)")
    }

    @Test(
        "whatever may depend on other rows is stated by a view",
        arguments: [
            ("PRAGMA foreign_keys = OFF; DELETE FROM artist WHERE id = 1", "delete"),
            (
                "DELETE FROM range; INSERT INTO range VALUES (1, 2, 3); DELETE FROM range", "delete"
            ),
            (
                """
                INSERT INTO range VALUES (2, 1, 1); DELETE FROM range WHERE id = 2;
                INSERT INTO range VALUES (2, 1, 1)
                """, "delete"
            ),
            ("UPDATE album SET id = 7 WHERE id = 2", "key"),
            ("UPDATE tag SET word = 'green' WHERE word = 'blue'", "key"),
            ("UPDATE tag SET note = X'0073796E63641A' WHERE word = 'red'", "value"),
            ("PRAGMA foreign_keys = OFF; UPDATE album SET artist = 99 WHERE id = 2", "reference"),
            (
                "DELETE FROM tag WHERE word = 'blue'|INSERT INTO tag VALUES ('blue', 1)",
                "identity"
            ),
        ])
    func otherRows(sql: String, reason: String) throws {
        let tally = try Self.tally(after: sql)
        #expect(tally.statementRefusals[reason] == 1, "\(sql): \(tally.statementRefusals)")
    }

    @Test("an open conflict of a row, or an unresolved row that needs it, sends it the general way")
    func conflicts() throws {
        let folder = try TemporaryFolder()
        let (one, two) = try TestStore.pair(
            in: folder, schema: Self.schema, usesLocalLane: true)
        try one.run("UPDATE artist SET name = 'Eva' WHERE id = 1")
        _ = try one.replica.vector
        try two.run("UPDATE artist SET name = 'Uma' WHERE id = 1")
        try one.pull(from: two)
        #expect(try one.replica.conflicts().count == 1)
        let before = one.replica.tally
        try one.run("UPDATE artist SET name = 'Ida' WHERE id = 2")
        _ = try one.replica.vector
        #expect(one.replica.tally.statedObjects == before.statedObjects + 1)
        try one.run("UPDATE artist SET name = 'Ute' WHERE id = 1")
        _ = try one.replica.vector
        #expect(one.replica.tally.statementRefusals == ["several versions": 1])
        #expect(try one.replica.conflicts().isEmpty)
        try TestStore.sync(one, two)
        #expect(try one.dump() == two.dump())
        #expect(try one.replica.sums == two.replica.sums)
    }

    @Test("what is stated row by row reaches the others")
    func sending() throws {
        let folder = try TemporaryFolder()
        let (one, two) = try TestStore.pair(
            in: folder, schema: Self.schema, usesLocalLane: true)
        try one.run(
            """
            BEGIN; INSERT INTO artist VALUES (3, 'Cy', 1); UPDATE album SET artist = 3; COMMIT;
            INSERT INTO tagged VALUES (2, 'blue', 1); UPDATE tagged SET weight = 9
            """)
        try TestStore.sync(one, two)
        #expect(one.replica.tally.statementRefusals == [:])
        #expect(try one.dump() == two.dump())
        #expect(try one.replica.sums == two.replica.sums)
    }

    /// `AssemblyLimit.memory` is 20,000 changes.
    @Test("a transaction that is too large to be assembled in memory reaches the others")
    func largeTransaction() throws {
        let folder = try TemporaryFolder()
        let (one, two) = try TestStore.pair(
            in: folder, schema: Self.schema, usesLocalLane: true)
        try one.run(
            """
            WITH n(i) AS (VALUES (3) UNION ALL SELECT i + 1 FROM n WHERE i < 21000)
            INSERT INTO range SELECT i, i, i FROM n
            """)
        try TestStore.sync(one, two)
        try one.run(
            """
            BEGIN; UPDATE range SET high = high + 1; UPDATE range SET low = 0 WHERE id % 7 = 0;
            DELETE FROM range WHERE id % 10 = 3; INSERT INTO range VALUES (13, 1, 2); COMMIT
            """)
        try TestStore.sync(one, two)
        #expect(one.replica.tally.statementRefusals == [:])
        #expect(one.replica.tally.regionObjects == 0)
        #expect(try one.dump() == two.dump())
        #expect(try one.replica.sums == two.replica.sums)
    }

    /// Compares both ways after statements, of which the part before a bar is stated first.
    private static func tally(after sql: String) throws -> MergeTally {
        let folder = try TemporaryFolder()
        let store = try TestStore(folder.file("a.db"), schema: schema)
        _ = try store.replica.vector
        let parts = sql.split(separator: "|")
        for part in parts.dropLast() {
            try store.run(String(part))
            _ = try store.replica.vector
        }
        try store.run(String(parts.last ?? ""))
        // All are open before the first of them states: so all see the same WAL.
        let general = try StoreReplica(store.path, wall: { 5 }, isVerifying: true, isGeneral: true)
        let quick = try StoreReplica(
            store.path, wall: { 5 }, isVerifying: true, usesLocalLane: true)
        let cut = try (1...3).map { count in
            try StoreReplica(
                store.path, wall: { 5 }, isVerifying: true, usesLocalLane: true, windowMax: count)
        }
        let expected = try SyncdTables.stated(by: general)
        for replica in [quick] + cut {
            let found = try SyncdTables.stated(by: replica)
            for table in Set(expected.keys).union(found.keys).sorted() {
                #expect(found[table] == expected[table], "\(sql): \(table)")
            }
            #expect(replica.tally.statementRefusals == quick.tally.statementRefusals)
        }
        for replica in cut { try replica.close() }
        #expect(general.tally.statedObjects == 0)
        let tally = quick.tally
        try general.close()
        try quick.close()
        return tally
    }
}

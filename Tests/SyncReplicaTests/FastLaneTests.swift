import SyncTesting
import Testing

@testable import SyncReplica
@testable import SyncValues

@Suite("Fast lane")
struct FastLaneTests {
    /// A long run: `swift run -c release syncsim --kind files --both --count 1000`.
    @Test(
        "both lanes write the same into every table",
        arguments: [(StoreSimulation.Schedules.plain, UInt64(13)), (.simple, 3)])
    func equalLanes(schedules: StoreSimulation.Schedules, seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let lane = try StoreSimulation.$isVerifying.withValue(false) {
            try StoreSimulation.$comparesLanes.withValue(true) {
                try StoreSimulation.run(seed: seed, schedules: schedules, in: folder.path).lane
            }
        }
        #expect(lane.eligible > 0)
    }

    private static let schema = """
        CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT,
          artist INTEGER REFERENCES artist(id), code TEXT UNIQUE);
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        """

    /// Two replicas of a store; the second one uses the lane.
    private func pair(
        in folder: TemporaryFolder, schema: String = Self.schema
    ) throws -> (TestStore, TestStore) {
        let (writer, reader) = try TestStore.pair(in: folder, schema: schema)
        try reader.replica.close()
        let replica = try StoreReplica(
            reader.path, wall: { Timestamp.now().milliseconds }, usesLane: true)
        return (writer, try TestStore(reader.path, replica))
    }

    @Test("inserts, updates and references go the fast way; a delete does not")
    func ways() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        func laneObjects() throws -> Int {
            try reader.pull(from: writer)
            #expect(try reader.dump() == writer.dump())
            return reader.replica.tally.laneObjects
        }
        try writer.run("INSERT INTO artist VALUES (1, 'Ana'), (2, 'Bo')")
        try writer.run("INSERT INTO album VALUES (7, 'One', 1, 'a'), (8, 'Two', 2, NULL)")
        #expect(try laneObjects() == 4)
        try writer.run("UPDATE album SET title = 'Three', artist = 1, code = 'b' WHERE id = 8")
        #expect(try laneObjects() == 5)
        try writer.run("DELETE FROM album WHERE id = 7")
        #expect(try laneObjects() == 5)
        #expect(reader.replica.tally.laneRefusals == ["life": 1])
    }

    /// Those that the lane's own SQL has, too.
    @Test(
        "names, keys and kinds of tables do not matter",
        arguments: [
            "CREATE TABLE source(c1 INTEGER PRIMARY KEY, target, c2 TEXT, rowid_ REAL)",
            "CREATE TABLE target(c1 TEXT PRIMARY KEY, source, c2 TEXT, rowid) WITHOUT ROWID",
            """
            CREATE TABLE t(c2 TEXT, c1 INTEGER, source, target, "a b" TEXT,
              g AS (c1 + 1) STORED, PRIMARY KEY (c2, c1))
            """,
            "CREATE TABLE excluded(c1 TEXT PRIMARY KEY, x BLOB, y INTEGER) STRICT",
        ])
    func awkwardTables(sql: String) throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder, schema: sql)
        let name = String(sql.dropFirst(13).prefix { $0 != "(" })
        let columns = try writer.rows(
            "SELECT name, type, pk FROM pragma_table_info('\(name)')")
        func value(_ row: Int, _ column: [Value]) -> String {
            switch column[1] {
            case .text("INTEGER"): "\(row)"
            case .text("REAL"): "\(row).5"
            case .text("BLOB"): "x'0\(row)'"
            default: "'Value \(row)'"
            }
        }
        func quoted(_ column: [Value]) -> String {
            if case .text(let name) = column[0] { "\"\(name)\"" } else { "" }
        }
        let list = columns.map(quoted).joined(separator: ", ")
        for row in 1...3 {
            let values = columns.map { value(row, $0) }.joined(separator: ", ")
            try writer.run("INSERT INTO \(name)(\(list)) VALUES (\(values))")
        }
        try reader.pull(from: writer)
        let others = columns.filter { $0[2] == 0 }
        for (row, column) in others.enumerated() {
            try writer.run("UPDATE \(name) SET \(quoted(column)) = \(value(row + 4, column))")
        }
        try writer.run("UPDATE \(name) SET \(quoted(others[0])) = NULL")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 6, "\(reader.replica.tally.laneRefusals)")
        #expect(try reader.dump() == writer.dump())
    }

    @Test(
        "tables with more columns than a word has bits go the fast way, both ways, up to a limit",
        arguments: [(64, true), (65, true), (127, true), (128, false)])
    func wideTables(count: Int, isTaken: Bool) throws {
        let folder = try TemporaryFolder()
        let columns = (0..<count).map { "c\($0)" }
        let (writer, reader) = try pair(
            in: folder,
            schema: """
                CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns.joined(separator: ", ")));
                INSERT INTO wide(id, c0) VALUES (1, 'a'), (2, 'b')
                """)
        try writer.run("UPDATE wide SET c0 = 'x', c\(count - 1) = 'y' WHERE id = 2")
        try writer.run("INSERT INTO wide(id, c\(count - 2)) VALUES (3, 'new')")
        try writer.run("UPDATE wide SET c\(count - 2) = NULL, c1 = 7 WHERE id = 3")
        try reader.pull(from: writer)
        #expect(try reader.dump() == writer.dump())
        #expect(writer.replica.tally.statementRefusals.isEmpty == isTaken)
        #expect(reader.replica.tally.laneObjects == (isTaken ? 2 : 0))
        #expect(try reader.replica.sums == writer.replica.sums)
    }

    @Test("a row that has nothing but its number goes the fast way")
    func bareRows() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(
            in: folder, schema: "CREATE TABLE bare(id INTEGER PRIMARY KEY)")
        try writer.run("INSERT INTO bare VALUES (3), (5)")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 2)
        #expect(try reader.rows("SELECT id FROM bare") == [[3], [5]])
        #expect(try reader.replica.sums == writer.replica.sums)
    }

    @Test("of a mixed slice the plain objects go the fast way")
    func mixedSlice() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try writer.run("INSERT INTO artist VALUES (1, 'Ana'), (2, 'Bo')")
        try writer.run("INSERT INTO note VALUES (1, 'a')")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 3)
        try writer.run(
            """
            BEGIN; INSERT INTO note VALUES (2, 'b'); DELETE FROM artist WHERE id = 2;
            UPDATE note SET text = 'c' WHERE id = 1; COMMIT
            """)
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 5)
        #expect(reader.replica.tally.laneRefusals == ["life": 1])
        #expect(try reader.dump() == writer.dump())
        #expect(try reader.replica.sums == writer.replica.sums)
        // Three changes of one transaction, in their order.
        let changes = "SELECT count(*) FROM syncd_change"
        #expect(try reader.rows(changes) == [[6]])
    }

    @Test("what refers to the table of a row that the general lane has goes the general way")
    func mixedReferences() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try writer.run("INSERT INTO artist VALUES (1, 'Ana'), (2, 'Bo')")
        try reader.pull(from: writer)
        try writer.run(
            """
            BEGIN; INSERT INTO album VALUES (1, 'One', 1, NULL);
            DELETE FROM artist WHERE id = 2; COMMIT
            """)
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneRefusals == ["life": 1, "reference": 1])
        #expect(try reader.dump() == writer.dump())
    }

    @Test("two replicas that give one number: the later row gets the next one, also by the lane")
    func takenNumbers() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try reader.run("INSERT INTO note VALUES (1, 'mine'), (2, 'mine, too')")
        try writer.run("INSERT INTO note VALUES (1, 'yours'), (7, 'and yours')")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 2)
        #expect(
            try reader.rows("SELECT count(*), count(DISTINCT id) FROM note") == [[4, 4]])
        #expect(try reader.rows("SELECT id FROM note WHERE text = 'and yours'") == [[7]])
        try TestStore.sync(writer, reader)
        #expect(try writer.replica.sums == reader.replica.sums)
    }

    @Test("a row that both sides edited goes the fast way, and so does what settles it")
    func rivals() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try writer.run("INSERT INTO note VALUES (1, 'a'), (2, 'b')")
        try reader.pull(from: writer)
        try reader.run("UPDATE note SET text = 'mine' WHERE id = 1")
        try writer.run("UPDATE note SET text = 'yours' WHERE id = 1")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 3)
        #expect(try reader.replica.conflicts().count == 1)
        try TestStore.sync(writer, reader)
        #expect(try reader.dump() == writer.dump())
        #expect(try writer.replica.conflicts().count == 1)
        try writer.run("UPDATE note SET text = 'both' WHERE id = 1")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 4)
        #expect(try reader.replica.conflicts().isEmpty)
        #expect(try reader.replica.sums == writer.replica.sums)
    }

    @Test("a deleted row keeps its number reserved, and the lane goes on")
    func reservedNumbers() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try writer.run("INSERT INTO note VALUES (1, 'a'), (2, 'b')")
        try reader.pull(from: writer)
        try writer.run("DELETE FROM note WHERE id = 2")
        try reader.pull(from: writer)
        try writer.run("UPDATE note SET text = 'c' WHERE id = 1")
        try writer.run("INSERT INTO note VALUES (2, 'again'), (3, 'new')")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 5)
        #expect(try reader.rows("SELECT count(*) FROM note") == [[3]])
        try TestStore.sync(writer, reader)
        #expect(try writer.replica.sums == reader.replica.sums)
    }

    @Test("a row that SQLite refuses takes back the slice, which then goes the general way")
    func refusedRows() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try reader.run("INSERT INTO album VALUES (9, 'mine', NULL, 'c')")
        try writer.run("INSERT INTO artist VALUES (1, 'Ana')")
        try writer.run("INSERT INTO album VALUES (10, 'yours', 1, 'c')")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 0)
        #expect(reader.replica.tally.laneRefusals == ["constraint": 2])
        #expect(try reader.rows("SELECT count(*) FROM album WHERE code = 'c'") == [[1]])
        #expect(try reader.rows("SELECT name FROM artist") == [["Ana"]])
        try TestStore.sync(writer, reader)
        #expect(try writer.replica.sums == reader.replica.sums)
    }

    @Test("text of any bytes stays as it is")
    func textOfAnyBytes() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        try writer.run("INSERT INTO artist VALUES (1, CAST(X'61FF62' AS TEXT)), (2, 'ä😀')")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 2)
        let bytes = "SELECT hex(CAST(name AS BLOB)) FROM artist"
        #expect(try reader.rows(bytes) == writer.rows(bytes))
        #expect(try reader.replica.sums == writer.replica.sums)
    }

    @Test("old values are kept by the fast lane, too")
    func oldValues() throws {
        let folder = try TemporaryFolder()
        let (writer, reader) = try pair(in: folder)
        _ = try Store.track(reader.path, choosing: CaptureChoice(undo: ["*"]))
        try writer.run("INSERT INTO artist VALUES (1, 'Ana')")
        try reader.pull(from: writer)
        try writer.run("UPDATE artist SET name = 'Anna'")
        try reader.pull(from: writer)
        #expect(reader.replica.tally.laneObjects == 2)
        let kept = "SELECT count(*) FROM syncd_change WHERE instr(data, CAST('Ana' AS BLOB)) > 0"
        #expect(try reader.rows(kept) == [[1]])
    }
}

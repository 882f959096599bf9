import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// How concurrent writes of one property merge, by what the owner chose.
@Suite("Merge policies")
struct PolicyTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, tags TEXT, likes INTEGER,
          code TEXT UNIQUE, low INTEGER, high INTEGER, CHECK(low <= high));
        INSERT INTO note VALUES (1, 'title', 'one' || char(10) || 'two' || char(10) || 'three',
          '["a", "b"]', 5, 'x', 1, 9);
        """

    /// Replicas of one store, under one policy for one column.
    private func replicas(
        _ count: Int = 2, of column: String, _ property: CellPolicy
    ) throws -> [TestStore] {
        try replicas(count, whole: .init(columns: [column: property]))
    }

    private func replicas(
        _ count: Int = 2, whole policy: MergePolicies.EntityPolicy
    ) throws -> [TestStore] {
        let first = try TestStore(folder.file("0.db"), schema: Self.schema)
        try first.replica.setPolicies(MergePolicies(entities: ["note": policy]))
        let snapshot = try first.replica.batches(since: VersionVector())
        return try [first]
            + (1..<count).map { index in
                let path = folder.file("\(index).db")
                return try TestStore(path, StoreReplica.create(at: path, from: snapshot[0]))
            }
    }

    /// Before anything is sent, a question about conflicts decides nothing.
    @Test func askingForConflictsLeavesIdentitiesToBeChosen() throws {
        let store = try TestStore(folder.file("0.db"), schema: Self.schema)
        #expect(try store.replica.conflicts(open: nil).isEmpty)
        try store.replica.closeConflicts()
        #expect(try store.replica.members().isEmpty)
        #expect(try store.replica.compareSchema() == nil)
        #expect(try store.replica.waiting.isEmpty)
        #expect(try !store.replica.isMerging)
        let policies = MergePolicies(entities: ["note": .init(identity: .key)])
        try store.replica.setPolicies(policies)
        #expect(try store.replica.policies().entities == policies.entities)
        // Its rows have identities from here on.
        _ = try store.replica.vector
        #expect(throws: SyncError(.refused, "")) { try store.replica.setPolicies(MergePolicies()) }
    }

    @Test("until something is stated, tables get their identities one after the other")
    func identitiesOfSeveralTables() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let connection = try PlainConnection(path)
        defer { connection.close() }
        try connection.run(
            """
            CREATE TABLE artist(id INTEGER PRIMARY KEY); INSERT INTO artist VALUES (1);
            CREATE TABLE album(id INTEGER PRIMARY KEY, artist INT)
            """)
        try Store.track(path)
        for table in ["artist", "album"] {
            // Each time as a command does.
            let replica = try StoreReplica(path)
            var policies = try replica.policies()
            policies.entities[table] = .init(identity: .shared)
            try replica.setPolicies(policies)
            #expect(try replica.policies().entities == policies.entities)
            #expect(try replica.idlePolicies().isEmpty)
            #expect(try replica.conflicts().isEmpty)
            #expect(try replica.isMerging == false)
            try replica.close()
        }
        let replica = try StoreReplica(path)
        _ = try replica.vector
        var policies = try replica.policies()
        #expect(policies.entities.count == 2)
        policies.entities["album"] = nil
        #expect(throws: SyncError.self) { try replica.setPolicies(policies) }
        try replica.close()
    }

    @Test func aPolicyWithoutEffectIsNamed() throws {
        let store = try replicas(1, of: "likes", .counter)[0]
        #expect(try store.replica.idlePolicies().isEmpty)
        try store.run("CREATE UNIQUE INDEX u ON note(likes)")
        let idle = IdlePolicy(
            entity: "note", column: "likes", policy: .counter, present: .lastWriter)
        #expect(try store.replica.idlePolicies() == [idle])
        try store.run("ALTER TABLE note RENAME TO page")
        #expect(try StoreReplica.idlePolicies(store.path).map(\.entity) == ["page"])
        try store.run("DROP INDEX u")
        #expect(try store.replica.idlePolicies().isEmpty)
    }

    /// Each writes, the first one first; then all exchange everything.
    private func write(_ stores: [TestStore], _ updates: String...) throws {
        for (store, update) in zip(stores, updates) {
            try store.run("UPDATE note SET \(update)")
            _ = try store.replica.vector
            Thread.sleep(forTimeInterval: 0.003)
        }
        try exchange(stores)
    }

    private func exchange(_ stores: [TestStore]) throws {
        for _ in 0..<2 {
            for from in stores {
                for to in stores where to.path != from.path { try to.pull(from: from) }
            }
        }
        for store in stores { #expect(try store.dump() == stores[0].dump()) }
    }

    private func value(_ stores: [TestStore], _ column: String) throws -> Value {
        try stores[0].rows("SELECT \(column) FROM note")[0][0]
    }

    private func lost(_ stores: [TestStore], _ column: String) throws -> [Value] {
        for store in stores {
            #expect(
                try store.replica.openConflicts() == stores[0].replica.openConflicts())
        }
        return try stores[0].replica.conflicts().compactMap { conflict in
            conflict.losing.values.pairs.first { $0.name == column }?.value
        }
    }

    // MARK: Winners

    @Test("firstWriter: the first of two concurrent writes is shown; a later one replaces it")
    func firstWriterWins() throws {
        let stores = try replicas(of: "title", .firstWriter)
        try write(stores, "title = 'first'", "title = 'second'")
        #expect(try value(stores, "title") == "first")
        #expect(try lost(stores, "title") == ["second"])
        try write(stores, "title = 'third'")
        #expect(try value(stores, "title") == "third")
        #expect(try lost(stores, "title").isEmpty)
    }

    @Test("a named replica wins against later writers, and against nobody who saw its value")
    func preferredReplicaWins() throws {
        let stores = try replicas(3, of: "title", .lastWriter)
        var policies = try stores[0].replica.policies()
        policies.entities["note"]?.columns = ["title": .preferring(stores[1].replica.replicaID)]
        try stores[0].replica.setPolicies(policies)
        try exchange(stores)
        #expect(try stores[2].replica.policies().entities == policies.entities)
        try write(stores, "title = 'a'", "title = 'b'", "title = 'c'")
        #expect(try value(stores, "title") == "b")
        #expect(try lost(stores, "title").count == 2)
        try write([stores[2]], "title = 'd'")
        try exchange(stores)
        #expect(try value(stores, "title") == "d")
    }

    @Test("object: of two concurrent writes to a row the later one is shown whole")
    func wholeRowIsOneValue() throws {
        let stores = try replicas(whole: .init(properties: .object))
        try write(stores, "title = 'a', likes = 6", "body = 'b'")
        #expect(try value(stores, "title") == "title")
        #expect(try value(stores, "body") == "b")
        #expect(try lost(stores, "likes") == [6])
    }

    // MARK: Counters

    @Test("counter: what everybody added counts, whatever the order")
    func counterAddsUp() throws {
        let stores = try replicas(3, of: "likes", .counter)
        try write(stores, "likes = likes + 2", "likes = likes + 10", "likes = likes - 1")
        #expect(try value(stores, "likes") == 16)
        #expect(try lost(stores, "likes").isEmpty)
        for _ in 0..<3 { try stores[1].run("UPDATE note SET likes = likes + 1") }
        try write(stores, "likes = likes + 100", "likes = likes * 2")
        #expect(try value(stores, "likes") == .integer(16 + 100 + 19 + 3))
    }

    @Test("counter: NULL is a value like any other, and a number after it is that number")
    func counterThatIsNull() throws {
        let stores = try replicas(of: "likes", .counter)
        try write(stores, "likes = likes + 2", "likes = NULL")
        #expect(try value(stores, "likes") == .null)
        try write(stores, "likes = 3")
        #expect(try value(stores, "likes") == 3)
        try write(stores, "likes = likes + 1", "likes = likes + 1")
        #expect(try value(stores, "likes") == 5)
        try write(stores, "likes = \(Int64.max)", "likes = likes + 1")
        #expect(try value(stores, "likes") == .integer(.min))
    }

    @Test("counter: a copy of the file states the same start, not another one")
    func counterOfCopies() throws {
        let first = try TestStore(folder.file("0.db"), schema: Self.schema)
        try first.replica.close()
        try first.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try first.run(
            """
            INSERT INTO syncd_meta(key, value)
            VALUES ('policies', '{"entities":{"note":{"columns":{"likes":"counter"}}}}')
            ON CONFLICT(key) DO UPDATE SET value = excluded.value
            """)
        try first.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(
            atPath: folder.file("0.db"), toPath: folder.file("1.db"))
        let stores = try ["0.db", "1.db"].map {
            try TestStore(folder.file($0), try StoreReplica(folder.file($0)))
        }
        for store in stores { _ = try store.replica.vector }
        try write(stores, "likes = likes + 2", "likes = likes + 10")
        #expect(try value(stores, "likes") == 17)
    }

    // MARK: Sets and texts

    @Test("set: what anybody added is in it, what anybody removed is not")
    func setsJoin() throws {
        let stores = try replicas(of: "tags", .set)
        try write(stores, #"tags = '["a","b","c"]'"#, #"tags = '["b","d"]'"#)
        #expect(try value(stores, "tags") == #"["b","d","c"]"#)
        #expect(try lost(stores, "tags").isEmpty)
        // Removed here, removed and added again there.
        try stores[1].run("UPDATE note SET tags = '[]'")
        _ = try stores[1].replica.vector
        try write(stores, #"tags = '["d", "c"]'"#, #"tags = '["b"]'"#)
        #expect(try value(stores, "tags") == #"["b"]"#)
    }

    @Test("set: what is no array is shown or lost as a whole")
    func setThatIsNone() throws {
        let stores = try replicas(of: "tags", .set)
        try write(stores, #"tags = '["a","b","c"]'"#, "tags = 'none'")
        #expect(try value(stores, "tags") == "none")
        #expect(try lost(stores, "tags") == [#"["a","b","c"]"#])
        try write(stores, #"tags = '["z"]'"#)
        #expect(try value(stores, "tags") == #"["z"]"#)
    }

    @Test("text: changes of different lines both arrive")
    func textsMerge() throws {
        let stores = try replicas(3, of: "body", .text)
        let end = "'three'"
        try write(
            stores, "body = replace(body, 'one', 'ONE')",
            "body = replace(body, \(end), 'three' || char(10) || 'four')",
            "body = replace(body, 'one' || char(10), 'one' || char(10) || 'between' || char(10))")
        #expect(try value(stores, "body") == "ONE\nbetween\ntwo\nthree\nfour")
        #expect(try lost(stores, "body").isEmpty)
        for word in ["x", "y", "z"] {
            try stores[1].run("UPDATE note SET body = body || '\(word)'")
            _ = try stores[1].replica.vector
        }
        try write(stores, "body = replace(body, 'ONE', '1')", "body = body || '!'")
        #expect(try value(stores, "body") == "1\nbetween\ntwo\nthree\nfourxyz!")
    }

    @Test("text: of two changes of one line the later is shown, the other text is in the log")
    func textsThatClash() throws {
        let stores = try replicas(of: "body", .text)
        try write(
            stores, "body = replace(body, 'two', 'zwei')", "body = replace(body, 'two', 'deux')")
        #expect(try value(stores, "body") == "one\ndeux\nthree")
        #expect(try lost(stores, "body") == ["one\nzwei\nthree"])
        let conflict = try #require(try stores[0].replica.conflicts().first)
        try stores[0].replica.resolve(conflict.id, keeping: .losing)
        try exchange(stores)
        #expect(try value(stores, "body") == "one\nzwei\nthree")
        #expect(try lost(stores, "body").isEmpty)
    }

    // MARK: Choosing

    @Test("a choice travels with what is sent, and the tables follow")
    func choiceTravels() throws {
        let stores = try replicas(of: "title", .lastWriter)
        try write(stores, "title = 'first'", "title = 'second'")
        #expect(try value(stores, "title") == "second")
        try stores[1].replica.setPolicies(
            MergePolicies(entities: ["note": .init(columns: ["title": .firstWriter])]))
        #expect(try value([stores[1]], "title") == "first")
        try exchange(stores)
        #expect(try value(stores, "title") == "first")
        #expect(try lost(stores, "title") == ["second"])
        #expect(
            try stores[0].rows("SELECT count(*) FROM syncd_transaction WHERE flags <> 0") != [[0]])
    }

    @Test("a column under a constraint does not blend; unknown names are refused")
    func choicesThatCannotBeHeld() throws {
        let store = try replicas(1, of: "title", .lastWriter)[0]
        for (column, property) in [
            ("low", CellPolicy.counter), ("code", .text), ("id", .counter),
            ("nothing", .firstWriter),
        ] {
            let before = try store.replica.policies()
            let policies = MergePolicies(entities: ["note": .init(columns: [column: property])])
            let error = #expect(throws: SyncError.self) {
                try store.replica.setPolicies(policies)
            }
            #expect(error?.code == (column == "nothing" ? .unknownEntity : .invalidArgument))
            #expect(try store.replica.policies() == before)
        }
        let error = #expect(throws: SyncError.self) {
            try store.replica.setPolicies(
                MergePolicies(entities: ["note": .init(identity: .key)]))
        }
        #expect(error?.code == .refused)
    }

    @Test("policies are read by the names that another program has just given")
    func namesOfNow() throws {
        let store = try replicas(1, of: "title", .firstWriter)[0]
        try store.run(
            """
            ALTER TABLE note RENAME COLUMN title TO old; ALTER TABLE note RENAME COLUMN body TO title;
            ALTER TABLE note RENAME TO memo
            """)
        var policies = try store.replica.policies()
        #expect(policies.entities == ["memo": .init(columns: ["old": .firstWriter])])
        policies.entities["memo"]?.columns = ["old": .firstWriter, "title": .text]
        try store.replica.setPolicies(policies)
        #expect(try store.replica.policies().entities == policies.entities)
    }

    @Test("a choice that another process made holds for a replica that is open")
    func choiceOfAnotherProcess() throws {
        let stores = try replicas(of: "title", .lastWriter)
        try write(stores, "title = 'first'", "title = 'second'")
        let other = try StoreReplica(stores[0].path)
        let choice = MergePolicies(entities: ["note": .init(columns: ["title": .firstWriter])])
        try other.setPolicies(choice)
        try other.close()
        #expect(try stores[0].replica.policies().entities == choice.entities)
        try write(stores, "title = 'third'", "title = 'fourth'")
        #expect(try value(stores, "title") == "third")
    }
}

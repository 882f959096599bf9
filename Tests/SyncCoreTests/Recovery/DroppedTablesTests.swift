import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Another program drops what syncd added to a database, as tools do that compare a schema with a
/// model.
@Suite("Dropped tables", .serialized, .timeLimit(.minutes(10))) struct DroppedTablesTests {
    @Test func everyObjectOfAStoreHasItsBlueprint() throws {
        let damaged = try DamagedStore()
        let objects = try StoreObjects(of: damaged.path)
        #expect(objects.foreign == [])
        for object in objects.own where PresentTrigger.number(in: object.name) == nil {
            #expect(StoreBlueprint.items[object.name]?.type == object.type, "\(object.name)")
        }
        for part in [StoreBlueprint.Part.capture, .history, .replication] {
            #expect(objects.missing(StoreBlueprint.tables(part)) == [])
        }
    }

    @Test(arguments: DamagedStore.Remedy.allCases)
    func eachTableAloneAndAllTogether(_ remedy: DamagedStore.Remedy) throws {
        let objects = try DamagedStore().objects()
        let tables = objects.filter { $0.type == "table" }
        var cases = objects.filter { $0.type != "trigger" }.map { [$0] }
        cases.append(tables)
        cases.append(tables + objects.filter { $0.type == "view" })
        cases.append(objects.filter { $0.type == "trigger" })
        for (number, dropped) in cases.enumerated() {
            let damaged = try DamagedStore(journal: number % 2 == 0 ? "wal" : "delete")
            try damaged.drop(dropped)
            do {
                try damaged.apply(remedy)
            } catch {
                Issue.record("\(dropped.map(\.name)), \(remedy): \(error)")
            }
        }
    }

    @Test func anySubsetOfObjects() throws {
        for seed in TestSeed.each(of: 1...40) {
            var dice = seed.random
            let damaged = try DamagedStore(journal: dice.once(in: 2) ? "wal" : "delete")
            let objects = try damaged.objects()
            let share = 1 + dice.below(6)
            // At least one table stays: of nothing nobody can tell that it was a store.
            let kept = objects.last { $0.type == "table" }?.name
            let dropped = objects.filter { $0.name != kept && dice.once(in: share) }.shuffled(
                using: &dice)
            let remedy = dice.pick(DamagedStore.Remedy.allCases)
            do {
                try damaged.drop(dropped)
                try damaged.apply(remedy)
            } catch {
                Issue.record("\(seed) \(remedy), \(dropped.map(\.name)): \(error)")
            }
        }
    }

    /// A tool that renames what it does not know: SQLite writes the new name into the triggers.
    @Test(arguments: DamagedStore.Remedy.allCases)
    func renamedTables(_ remedy: DamagedStore.Remedy) throws {
        for name in ["syncd_log", "syncd_guard"] {
            let damaged = try DamagedStore()
            let db = try PlainConnection(damaged.path)
            try db.run("ALTER TABLE \(name) RENAME TO old_name")
            if remedy == .untrack {
                try Store.untrack(damaged.path)
            } else {
                try damaged.apply(remedy)
            }
            try db.run("DROP TABLE old_name; INSERT INTO item VALUES(20, 'twenty', 20)")
            #expect(try StoreObjects(of: damaged.path).foreign == [])
        }
    }

    // MARK: What is lost

    @Test(arguments: ["syncd_log", "syncd_change", "syncd_transaction", "syncd_entity"])
    func tokensOfBeforeLeadNowhereAndNumbersGoOn(_ table: String) throws {
        let damaged = try DamagedStore()
        try damaged.drop([("table", table)])
        let report = try Store.mend(damaged.path)
        #expect(report.missing == [table])
        #expect(report.losses.contains(table == "syncd_log" ? .log : .history))
        let store = try Store.open(damaged.path)
        defer { try? store.close() }
        #expect(throws: SyncError(.foreignHistory, "")) { try store.check(damaged.token) }
        try PlainConnection(damaged.path).run("UPDATE item SET n = 77 WHERE id = 1")
        let last = try store.history().last
        #expect(last?.changes.first?.object.path == "item/1")
        let newest = table == "syncd_log" ? 3 : damaged.token.number
        #expect((last?.number ?? 0) > newest)
    }

    @Test(arguments: ["syncd_guard", "syncd_fingerprint", "syncd_consumer", "syncd_who"])
    func tokensStayWhereHistoryIsWhole(_ table: String) throws {
        let damaged = try DamagedStore()
        try damaged.drop([("table", table)])
        try Store.mend(damaged.path)
        let store = try Store.open(damaged.path)
        defer { try? store.close() }
        try store.check(damaged.token)
        #expect(store.id == damaged.id && store.replica == damaged.replica)
    }

    @Test func whatWasWrittenAndNotYetDigestedIsFoundByComparing() throws {
        let database = try TestDatabase(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, title)",
            "INSERT INTO item VALUES(1, 'a'), (2, 'b'), (3, 'c')")
        let store = try database.store()
        #expect(try store.digest() == false)
        try store.close()
        try database.sql("UPDATE item SET title = 'z' WHERE id = 2; DELETE FROM item WHERE id = 3")
        try database.sql("DROP TABLE syncd_log")
        let report = try Store.mend(database.path)
        #expect(report.losses == [.log] && report.recoveredCount == 2)
        let again = try Store.open(database.path)
        defer { try? again.close() }
        let transaction = try again.history().last
        #expect(transaction?.flags.contains(.recovered) == true)
        #expect(transaction?.summary == "update item/2 title, delete item/3")
    }

    @Test func withoutItsSettingsItIsANewStoreThatKeepsItsHistory() throws {
        let damaged = try DamagedStore()
        try damaged.drop([("table", "syncd_meta")])
        let report = try Store.mend(damaged.path)
        #expect(report.losses.contains(.identity))
        let store = try Store.open(damaged.path)
        defer { try? store.close() }
        #expect(store.id != damaged.id && store.replica != damaged.replica)
        #expect(throws: SyncError(.foreignHistory, "")) { try store.check(damaged.token) }
        let objects = try store.history().flatMap(\.changes).map(\.object.path)
        #expect(objects == ["item/1", "pair/p,1", "item/3", "item/2"])
        #expect(try store.remotes().map(\.name) == ["origin"])
    }

    @Test func theOptionsOfATableAreReadFromItsTriggers() throws {
        let damaged = try DamagedStore()
        let tables = try damaged.objects().filter { $0.type == "table" }
        try damaged.drop(tables)
        let report = try Store.mend(damaged.path)
        #expect(!report.losses.contains { if case .options = $0 { true } else { false } })
        let layouts = try PlainConnection(damaged.path).strings(
            "SELECT layout FROM syncd_entity WHERE name = 'item' AND retired = 0")
        #expect(try layouts.map { try CaptureLayout(json: $0).undo } == [true])
    }

    // MARK: Merging

    @Test(arguments: StoreBlueprint.tables(.replication))
    func aStoreWithoutATableOfMergingIsNotMerged(_ table: String) throws {
        let damaged = try DamagedStore()
        let other = damaged.folder.file("other.db")
        let first = try StoreReplica(damaged.path)
        let batches = try first.batches(since: VersionVector())
        try StoreReplica.clone(at: other, from: batches).close()
        try first.close()
        try damaged.drop([("table", table)])
        let replica = try StoreReplica(damaged.path)
        #expect(throws: SyncError(.storeDamaged, "")) {
            try replica.batches(since: VersionVector())
        }
        #expect(throws: SyncError(.storeDamaged, "")) { try replica.merge(batches[0]) }
        try replica.close()
        #expect(try Store.mend(damaged.path).losses == [.replication])
        let mended = try StoreReplica(damaged.path)
        defer { try? mended.close() }
        #expect(mended.storeID != damaged.id)
        #expect(throws: SyncError(.refused, "")) { try mended.merge(batches[0]) }
        let theirs = try StoreReplica(other)
        defer { try? theirs.close() }
        for batch in try mended.batches(since: VersionVector()) {
            #expect(throws: SyncError(.refused, "")) { try theirs.merge(batch) }
        }
    }

    @Test func anOpenReplicaDoesNotGoOnUnderAnotherIdentity() throws {
        let damaged = try DamagedStore()
        let replica = try StoreReplica(damaged.path)
        defer { try? replica.close() }
        _ = try replica.vector
        try damaged.drop([("table", "syncd_meta")])
        try Store.mend(damaged.path)
        #expect(throws: SyncError(.storeReplaced, "")) { try replica.vector }
    }

    // MARK: What is no whole store

    @Test(arguments: DamagedStore.Remedy.allCases)
    func aCopyOfTheSchemaAlone(_ remedy: DamagedStore.Remedy) throws {
        let folder = try TemporaryFolder()
        let whole = try PlainConnection(folder.file("whole.db"))
        try whole.run("CREATE TABLE item(id INTEGER PRIMARY KEY, title, n)")
        let plain = try whole.dump()
        try Store.track(folder.file("whole.db"))
        let path = folder.file("copy.db")
        let copy = try PlainConnection(path)
        for sql in try whole.strings("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL") {
            try copy.run(sql)
        }
        #expect(throws: SyncError(.storeDamaged, "")) { try Store.open(path) }
        switch remedy {
        case .untrack:
            try Store.untrack(path)
            #expect(try copy.dump() == plain)
            return
        case .track: #expect(try Store.track(path).repair?.losses.contains(.identity) == true)
        case .mend: try Store.mend(path)
        }
        let store = try Store.open(path)
        defer { try? store.close() }
        try copy.run("INSERT INTO item VALUES(1, 'a', 1); UPDATE item SET n = 2")
        #expect(try RawLog.entries(copy).map(\.kind) == [.insert, .update], "each once")
        let objects = try store.history().flatMap(\.changes).map(\.object.path)
        #expect(Set(objects) == ["item/1"])
        #expect(try Tracker(path: path).verify(thoroughly: true) == [])
    }

    @Test func whatOthersNamedLikeOursStaysAndIsNamed() throws {
        let damaged = try DamagedStore()
        let db = try PlainConnection(damaged.path)
        try db.run(
            """
            CREATE TABLE syncd_notes(a); CREATE INDEX syncd_mine ON item(n);
            CREATE TRIGGER syncd_1_z AFTER INSERT ON item BEGIN SELECT 1; END;
            CREATE INDEX theirs ON syncd_log(ts);
            CREATE TRIGGER counting AFTER INSERT ON syncd_log BEGIN SELECT 1; END;
            """)
        let report = try Store.untrack(damaged.path)
        #expect(
            report.leftAlone.sorted() == [
                "index syncd_mine", "table syncd_notes", "trigger syncd_1_z",
            ])
        #expect(
            try db.strings("SELECT name FROM sqlite_schema WHERE name LIKE 'syncd%'").sorted()
                == ["syncd_1_z", "syncd_mine", "syncd_notes"])
    }

    @Test(arguments: [
        "TABLE syncd_log(a)", "VIEW syncd_txn AS SELECT 1",
        "TABLE syncd_meta(key TEXT PRIMARY KEY, value, more)", "TABLE syncd_change(seq)",
    ])
    func anotherObjectUnderANameThatIsNeededIsNamed(_ object: String) throws {
        let damaged = try DamagedStore()
        let words = object.split { " (".contains($0) }
        try damaged.drop([(String(words[0]), String(words[1]))])
        let db = try PlainConnection(damaged.path)
        try db.run("CREATE \(object)")
        let before = try db.dump()
        #expect(throws: SyncError(.cannotTrack, "")) { try Store.mend(damaged.path) }
        #expect(throws: SyncError(.cannotTrack, "")) { try Store.track(damaged.path) }
        #expect(throws: (any Error).self) {
            let store = try Store.open(damaged.path)
            try store.repairCapture()
        }
        #expect(try db.dump() == before)
        let left = try Store.untrack(damaged.path).leftAlone
        #expect(left == ["\(words[0].lowercased()) \(words[1])"])
        try db.run("DROP \(words[0]) \(words[1])")
        try Store.track(damaged.path)
        try damaged.expectWhole()
    }

    @Test func severalMendAtOnce() async throws {
        let damaged = try DamagedStore()
        try damaged.drop(try damaged.objects().filter { $0.type == "table" })
        let path = damaged.path
        let losses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { try Store.mend(path).losses.count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(losses.count { $0 > 0 } == 1, "one of them: \(losses)")
        try damaged.expectWhole()
    }

    @Test func anOpenStoreSaysWhatIsWrong() throws {
        let damaged = try DamagedStore()
        let store = try Store.open(damaged.path)
        defer { try? store.close() }
        try damaged.drop(try damaged.objects().filter { $0.type == "table" })
        #expect(throws: SyncError(.storeDamaged, "")) { try store.poll() }
        #expect(throws: SyncError(.storeDamaged, "")) { try store.history() }
        #expect(throws: SyncError(.storeDamaged, "")) { try store.status() }
        #expect(throws: SyncError(.storeDamaged, "")) { try store.verifyCapture() }
        #expect(throws: SyncError(.storeDamaged, "")) { try store.repairCapture() }
        try Store.mend(damaged.path)
        #expect(throws: SyncError(.foreignHistory, "")) { try store.poll() }
    }
}

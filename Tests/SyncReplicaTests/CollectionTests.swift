import Foundation
import SyncRemotes
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// What no replica needs any more goes; nothing that somebody needs does.
@Suite("Collection", .timeLimit(.minutes(15)))
struct CollectionTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE owner(name TEXT PRIMARY KEY NOT NULL, age INTEGER);
        CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT,
          owner TEXT REFERENCES owner(name) ON DELETE SET NULL);
        INSERT INTO owner VALUES ('ann', 1), ('bob', 2), ('eve', 3);
        """

    private func pair() throws -> (TestStore, TestStore) {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        return (a, try clone(a, "b.db"))
    }

    private func clone(_ store: TestStore, _ name: String) throws -> TestStore {
        let batches = try store.replica.batches(since: VersionVector())
        let replica = try StoreReplica.clone(at: folder.file(name), from: batches)
        return try TestStore(folder.file(name), replica)
    }

    private func send(_ from: TestStore, _ to: TestStore) throws {
        let behind = try to.replica.behind
        let since = behind.isEmpty ? try to.replica.vector : VersionVector()
        for batch in try from.replica.batches(since: since) {
            #expect(try to.replica.merge(batch))
        }
    }

    private func meet(_ a: TestStore, _ b: TestStore) throws {
        for _ in 0..<2 {
            try send(a, b)
            try send(b, a)
        }
        try a.replica.noteAcknowledged([b.replica.replicaID: try b.replica.vector])
        try b.replica.noteAcknowledged([a.replica.replicaID: try a.replica.vector])
    }

    private func sizes(_ store: TestStore) throws -> [String: Int64] {
        var sizes: [String: Int64] = [:]
        for table in ["syncd_object", "syncd_header", "syncd_run", "syncd_mark", "syncd_round"] {
            if case .integer(let count) = try store.rows("SELECT count(*) FROM \(table)")[0][0] {
                sizes[table] = count
            }
        }
        return sizes
    }

    @Test("the state of a constant set of objects does not grow with edits and deletes")
    func bounded() throws {
        let (a, b) = try pair()
        var early: [String: Int64] = [:]
        for round in 0..<16 {
            for store in [a, b] {
                for number in 0..<10 {
                    try store.run("UPDATE owner SET age = \(round * 10 + number)")
                    try store.run(
                        """
                        INSERT INTO item(text, owner) VALUES ('r\(round)-\(number)', 'ann');
                        DELETE FROM item WHERE id NOT IN
                          (SELECT id FROM item ORDER BY id DESC LIMIT 20);
                        """)
                }
                try store.run("INSERT INTO owner VALUES ('temp\(round)', 1)")
                try store.run("DELETE FROM owner WHERE name LIKE 'temp%'")
                try meet(a, b)
            }
            // What was concurrent and lost is looked at by somebody.
            try a.replica.closeConflicts()
            try meet(a, b)
            for store in [a, b] { try store.replica.collect() }
            if round == 6 { early = try sizes(a) }
        }
        for store in [a, b] {
            let late = try sizes(store)
            for (table, count) in late {
                #expect(count <= 2 * max(20, early[table] ?? 0), "\(table): \(late), \(early)")
            }
        }
        #expect(try sizes(a)["syncd_object"] ?? 0 <= 120)
        let c = try clone(a, "c.db")
        let text = "SELECT text, owner FROM item ORDER BY 1"
        #expect(try c.rows(text) == a.rows(text))
        try c.run("UPDATE owner SET age = -1 WHERE name = 'eve'")
        try meet(a, c)
        try meet(a, b)
        let ages = "SELECT * FROM owner ORDER BY 1"
        #expect(try b.rows(ages) == c.rows(ages))
    }

    @Test("one call marks, a later one drops, when the others have merged since")
    func twoPhases() throws {
        let (a, b) = try pair()
        try meet(a, b)
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        #expect(try a.replica.collect().objects == 0)
        #expect(try a.replica.collect().objects == 0, "nobody else has merged the delete")
        try meet(a, b)
        #expect(try a.replica.collect().objects == 1)
        #expect(try b.replica.collect().objects == 1, "all have what it marks at")
    }

    @Test("a row that came with the snapshot of one that was away, too, stays everywhere")
    func rowOfAnotherThatWasAway() throws {
        let all = try three()
        let (a, b, c) = (all[0], all[1], all[2])
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        #expect(try a.replica.collect(lease: .seconds(-1)).objects == 1)
        try send(a, b)
        #expect(try b.replica.doubtful.count == 1)
        try send(b, c)
        let names = "SELECT name FROM owner ORDER BY 1"
        #expect(try c.rows(names) == [[.text("ann")], [.text("bob")], [.text("eve")]])
        // It has what the first one has dropped, under the same vector, and does not know it.
        let doubted = [c.replica.replicaID: try #require(try c.replica.sums)]
        #expect(try a.replica.compare(doubted).count == 1)
        // Not asked for, as a folder has it after compaction.
        for batch in try a.replica.batches(since: VersionVector()) {
            #expect(try c.replica.merge(batch))
        }
        for _ in 0..<2 {
            for from in all {
                for to in all where to.replica.replicaID != from.replica.replicaID {
                    try send(from, to)
                }
            }
        }
        for store in all {
            #expect(try store.rows(names) == c.rows(names))
            #expect(try store.replica.doubtful.count == 0)
        }
        #expect(try c.rows(names).count == 3)
        let sums = [c.replica.replicaID: try #require(try c.replica.sums)]
        #expect(try a.replica.compare(sums).isEmpty)
        #expect(try a.replica.comparedCount(among: sums) == 1)
    }

    @Test("what is named again in between stays")
    func namedAgain() throws {
        let (a, b) = try pair()
        try meet(a, b)
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        try b.run("INSERT INTO item VALUES (7, 'held', 'eve')")
        _ = try a.replica.collect()
        try meet(a, b)
        try a.run("INSERT INTO owner VALUES ('eve', 4)")
        _ = try a.replica.collect()
        try meet(a, b)
        for store in [a, b] { _ = try store.replica.collect() }
        try meet(a, b)
        for store in [a, b] {
            #expect(try store.rows("SELECT age FROM owner WHERE name = 'eve'") == [[.integer(4)]])
            _ = try store.replica.collect()
        }
    }

    private static let owners = "SELECT * FROM owner ORDER BY 1"

    @Test("what is created again after it was marked stays, in every state")
    func createdAgain() throws {
        let (a, b) = try pair()
        try meet(a, b)
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        #expect(try a.replica.collect().objects == 0)
        #expect(try sizes(a)["syncd_mark"] == 1)
        try meet(a, b)
        try a.run("INSERT INTO owner VALUES ('eve', 4)")
        try meet(a, b)
        #expect(try sizes(a)["syncd_mark"] == 0)
        for _ in 0..<2 { #expect(try a.replica.collect().objects == 0) }
        let c = try clone(a, "c.db")
        #expect(try c.rows(Self.owners) == a.rows(Self.owners))
        try c.run("UPDATE owner SET age = 5 WHERE name = 'eve'")
        try meet(a, c)
        try meet(a, b)
        for store in [a, b, c] {
            #expect(try store.rows("SELECT age FROM owner WHERE name = 'eve'") == [[.integer(5)]])
        }
    }

    @Test("what was named since it was marked is marked again, also when the name is gone again")
    func namedSince() throws {
        let (a, b) = try pair()
        try meet(a, b)
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        #expect(try a.replica.collect().objects == 0)
        try b.run("INSERT INTO item VALUES (7, 'held', 'eve')")
        try send(b, a)
        #expect(try sizes(a)["syncd_mark"] == 0, "somebody still sees it")
        try b.run("UPDATE item SET owner = 'ann' WHERE id = 7")
        try meet(a, b)
        try a.run("UPDATE owner SET age = 8 WHERE name = 'ann'")
        #expect(try a.replica.collect().objects == 0, "the old round says nothing of it")
        try meet(a, b)
        #expect(try a.replica.collect().objects == 1)
        #expect(try a.rows("SELECT text, owner FROM item") == [[.text("held"), .text("ann")]])
        #expect(try a.rows(Self.owners) == b.rows(Self.owners))
    }

    @Test("who has merged a delete, but wrote something that is not here, is waited for")
    func heardTooEarly() throws {
        let (a, b) = try pair()
        try meet(a, b)
        try b.run("UPDATE owner SET age = 33 WHERE name = 'eve'")
        _ = try b.replica.vector
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        #expect(try a.replica.collect().objects == 0)
        try send(a, b)
        try a.replica.noteAcknowledged([b.replica.replicaID: try b.replica.vector])
        #expect(try a.replica.collect().objects == 0, "the update is not here")
        try meet(a, b)
        #expect(try a.rows(Self.owners) == b.rows(Self.owners))
        let open = try a.replica.openConflicts()
        #expect(try open == b.replica.openConflicts())
        let shown = try a.rows(Self.owners).joined()
        let lost = try a.replica.conflicts().flatMap { $0.losing.values.pairs.map(\.value) }
        #expect(shown.contains(.integer(33)) || lost.contains(.integer(33)), "\(lost)")
    }

    @Test("what a deleted object names stays as long as somebody may take that back")
    func stillNamed() throws {
        let (a, b) = try pair()
        try a.run("INSERT INTO item VALUES (7, 'old', 'eve')")
        try meet(a, b)
        try a.run("DELETE FROM item; DELETE FROM owner WHERE name = 'eve'")
        try b.run("UPDATE item SET text = 'edited' WHERE id = 7")
        try meet(a, b)
        #expect(try a.replica.openConflicts().count == 1)
        for _ in 0..<2 {
            for store in [a, b] { #expect(try store.replica.collect().objects == 0) }
        }
        for store in [a, b] { #expect(try sizes(store)["syncd_mark"] == 0) }
        try a.replica.closeConflicts()
        try meet(a, b)
        for store in [a, b] { #expect(try store.replica.collect().objects == 2) }
    }

    @Test("an absent replica is not waited for, comes back by a snapshot, and loses nothing")
    func absentReplica() throws {
        let (a, b) = try pair()
        try a.run("INSERT INTO item VALUES (1, 'first', 'ann'), (2, 'second', 'bob')")
        try meet(a, b)
        let c = try clone(a, "c.db")
        for store in [a, b] {
            try store.replica.noteAcknowledged([c.replica.replicaID: c.replica.vector])
        }
        try c.run("UPDATE item SET text = 'edited by c' WHERE id = 1")
        try c.run("UPDATE item SET text = 'kept by c' WHERE id = 2")
        try c.run("INSERT INTO item VALUES (3, 'new by c', 'eve')")
        try a.run("DELETE FROM item WHERE id = 1")
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        try b.run("UPDATE owner SET age = 99 WHERE name = 'bob'")
        try meet(a, b)
        for store in [a, b] { #expect(try store.replica.collect().objects == 0) }
        try meet(a, b)
        for store in [a, b] {
            #expect(try store.replica.collect().objects == 0, "c is waited for")
            #expect(try store.replica.collect(lease: .seconds(-1)).objects == 2)
        }
        let batches = try a.replica.batches(since: try c.replica.vector)
        #expect(batches.count == 1)
        #expect(try BatchEnvelope.read(batches[0]).envelope.hasGaps)
        for _ in 0..<2 {
            try send(a, c)
            try send(c, a)
            try meet(a, b)
        }
        for query in [
            "SELECT text, owner FROM item ORDER BY 1", "SELECT * FROM owner ORDER BY 1",
        ] {
            #expect(try a.rows(query) == c.rows(query))
            #expect(try b.rows(query) == c.rows(query))
        }
        #expect(
            try c.rows("SELECT text FROM item ORDER BY 1")
                == [[.text("kept by c")], [.text("new by c")]])
        let open = try a.replica.openConflicts()
        #expect(try open == b.replica.openConflicts() && open == c.replica.openConflicts())
        let lost = try a.replica.conflicts().flatMap { $0.losing.values.pairs.map(\.value) }
        #expect(lost.contains(.text("edited by c")), "\(lost)")
    }

    @Test("who was not asked and got batches of changes alone asks for a snapshot")
    func changesAlone() throws {
        let (a, b) = try pair()
        try meet(a, b)
        try b.run("UPDATE owner SET age = 5 WHERE name = 'eve'")
        _ = try b.replica.vector
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        let since = try b.replica.vector
        let changes = try a.replica.batches(since: since)
        for _ in 0..<2 { _ = try a.replica.collect(lease: .seconds(-1)) }
        for batch in changes { _ = try b.replica.merge(batch) }
        try a.run("UPDATE owner SET age = 7 WHERE name = 'ann'")
        #expect(try b.replica.behind.isEmpty)
        for batch in try a.replica.batches(since: try b.replica.vector) {
            _ = try b.replica.merge(batch)
        }
        #expect(try !b.replica.behind.isEmpty)
        try send(a, b)
        #expect(try b.replica.behind.isEmpty)
        try meet(a, b)
        let all = "SELECT * FROM owner ORDER BY 1"
        #expect(try a.rows(all) == b.rows(all))
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
    }

    /// Exchanges as replicas do that are connected, each with each.
    /// - Returns: how many batches were merged in each round; the last one has none, unless there
    ///   are too many rounds.
    private func exchange(_ all: [TestStore]) throws -> [Int] {
        var counts: [Int] = []
        while counts.last != 0 && counts.count < 8 {
            var count = 0
            for from in all {
                for to in all where to.replica.replicaID != from.replica.replicaID {
                    count += try answer(from, to)
                }
            }
            counts.append(count)
        }
        return counts
    }

    private func answer(_ from: TestStore, _ to: TestStore) throws -> Int {
        let behind = try to.replica.behind
        let awaited = try to.replica.awaited
        let isAsked =
            !behind.isEmpty && (awaited.isEmpty || awaited.contains(from.replica.replicaID))
        var count = 0
        let since = isAsked ? VersionVector() : try to.replica.vector
        for batch in try from.replica.batches(since: since) {
            let envelope = try BatchEnvelope.read(batch).envelope
            let cut = awaited.isEmpty ? envelope.collected : envelope.upTo
            if isAsked, !cut.covers(behind) { continue }
            #expect(try to.replica.merge(batch))
            count += 1
        }
        return count
    }

    /// Three replicas, each of which knows what the others have.
    private func three() throws -> [TestStore] {
        let (a, b) = try pair()
        let c = try clone(a, "c.db")
        let all = [a, b, c]
        for store in all {
            try store.replica.noteAcknowledged(
                Dictionary(
                    uniqueKeysWithValues: try all.map {
                        ($0.replica.replicaID, try $0.replica.vector)
                    }))
        }
        return all
    }

    /// One replica has collected a deleted object, two have it and wrote something meanwhile.
    private func deletedAtTwo() throws -> [TestStore] {
        let all = try three()
        let (a, b, c) = (all[0], all[1], all[2])
        for (age, store) in [b, c].enumerated() {
            try store.run("UPDATE owner SET age = \(age) WHERE name = 'bob'")
            _ = try store.replica.vector
        }
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        let changes = try [b, c].map { try a.replica.batches(since: try $0.replica.vector) }
        for _ in 0..<2 { _ = try a.replica.collect(lease: .seconds(-1)) }
        for (store, batches) in zip([b, c], changes) {
            for batch in batches { #expect(try store.replica.merge(batch)) }
        }
        return all
    }

    @Test("what two replicas have of a deleted object that others have collected is not stated")
    func deletedElsewhere() throws {
        let all = try deletedAtTwo()
        try all[0].run("UPDATE owner SET age = 7 WHERE name = 'ann'")
        let counts = try exchange(all)
        #expect(counts.last == 0, "the exchange does not come to rest: \(counts)")
        let kept = "SELECT count(*) FROM syncd_who WHERE context = 'kept'"
        for store in all {
            #expect(try store.rows(Self.owners) == all[0].rows(Self.owners))
            #expect(try store.replica.doubtful.count == 0 && store.replica.behind.isEmpty)
            #expect(try store.rows(kept) == [[.integer(0)]])
        }
    }

    @Test("one snapshot for a cut is enough, also for later batches that state the cut")
    func oneSnapshot() throws {
        let all = try deletedAtTwo()
        try all[0].run("UPDATE owner SET age = 7 WHERE name = 'ann'")
        _ = try exchange(all)
        try all[0].run("UPDATE owner SET age = 8 WHERE name = 'ann'")
        for store in all.dropFirst() {
            try send(all[0], store)
            #expect(try store.replica.behind.isEmpty)
            #expect(try store.rows(Self.owners) == all[0].rows(Self.owners))
        }
    }

    @Test("in a folder, the next replica that pushes answers a request for a snapshot")
    func askingInAFolder() async throws {
        let (a, b) = try pair()
        try meet(a, b)
        let path = folder.file("shared")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let store = a.replica.storeID
        try DirectoryRemote.create(path, store: store)
        let ours = try DirectoryRemote(path, store: store, replica: a.replica.replicaID)
        let theirs = try DirectoryRemote(path, store: store, replica: b.replica.replicaID)
        _ = try await Exchange(a.replica, with: ours).push()
        try b.run("UPDATE owner SET age = 5 WHERE name = 'eve'")
        _ = try b.replica.vector
        try a.run("DELETE FROM owner WHERE name = 'eve'")
        _ = try await Exchange(a.replica, with: ours).push()
        for _ in 0..<2 { _ = try a.replica.collect(lease: .seconds(-1)) }
        try a.run("UPDATE owner SET age = 7 WHERE name = 'ann'")
        _ = try await Exchange(a.replica, with: ours).push()
        _ = try await Exchange(b.replica, with: theirs).sync()
        #expect(try !b.replica.behind.isEmpty, "changes alone were there")
        #expect(try await ours.requestedSnapshots().count == 1)
        _ = try await Exchange(a.replica, with: ours).sync()
        _ = try await Exchange(a.replica, with: ours).sync()
        _ = try await Exchange(b.replica, with: theirs).sync()
        #expect(try b.replica.behind.isEmpty)
        #expect(try await ours.requestedSnapshots().isEmpty)
        _ = try await Exchange(a.replica, with: ours).sync()
        let all = "SELECT * FROM owner ORDER BY 1"
        #expect(try a.rows(all) == b.rows(all))
        #expect(try a.replica.openConflicts() == b.replica.openConflicts())
    }
}

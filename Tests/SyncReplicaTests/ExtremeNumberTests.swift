import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// The ends of the range, where one more is no number.
@Suite("Numbers at the end of their range")
struct ExtremeNumberTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE reply(id INTEGER PRIMARY KEY, note INTEGER REFERENCES note(id), text TEXT);
        INSERT INTO note VALUES (1, 'one'), (2, 'two'); INSERT INTO reply VALUES (1, 1, 'r');
        """

    private func replicas(_ count: Int = 2) throws -> [TestStore] {
        let first = try TestStore(folder.file("0.db"), schema: Self.schema)
        let snapshot = try first.replica.batches(since: VersionVector())
        return try [first]
            + (1..<count).map {
                let path = folder.file("\($0).db")
                return try TestStore(path, StoreReplica.create(at: path, from: snapshot[0]))
            }
    }

    @Test(
        "a row with the greatest integer key stops nobody", arguments: [Int64.max, .max - 1, .min])
    func greatestKey(_ key: Int64) throws {
        let stores = try replicas(3)
        try stores[0].run("INSERT INTO note VALUES (\(key), 'extreme')")
        try stores[0].run("INSERT INTO reply VALUES (\(key), \(key), 'to it')")
        try TestStore.sync(stores[0], stores[1], stores[2])
        for round in 0..<3 {
            for (index, store) in stores.enumerated() {
                try store.run("INSERT INTO note(text) VALUES ('\(index) in \(round)')")
                try store.run(
                    "INSERT INTO reply(note, text) SELECT id, text FROM note ORDER BY text LIMIT 3")
            }
            try TestStore.sync(stores[0], stores[1], stores[2])
        }
        let rows = """
            SELECT n.text, r.text FROM note n LEFT JOIN reply r ON r.note = n.id ORDER BY 1, 2
            """
        for store in stores {
            #expect(try store.rows(rows) == stores[0].rows(rows))
            #expect(try store.rows("SELECT count(*) FROM note") == [[12]])
            #expect(try store.rows("PRAGMA foreign_key_check").isEmpty)
        }
    }

    private func refusal(_ store: TestStore, _ batch: [UInt8]) -> SyncError.Code? {
        do {
            _ = try store.replica.merge(batch)
            return nil
        } catch let error as SyncError {
            return error.code
        } catch {
            Issue.record("not a SyncError: \(error)")
            return nil
        }
    }

    @Test(
        "a revision of the policies that nobody can have come to is refused",
        arguments: [Int.max, Int(Int32.max), 1_000_001, -1, .min])
    func inventedRevision(_ revision: Int) throws {
        let stores = try replicas()
        let (a, b) = (stores[0], stores[1])
        try a.run("UPDATE note SET text = 'x'")
        var batch = try BatchDecoder.decode(
            try #require(a.replica.batches(since: b.replica.vector).last))
        var policies = MergePolicies(entities: ["note": .init(deletes: .editWins)])
        policies.revision = revision
        batch.extras.policies = try policies.json()
        #expect(refusal(b, try BatchEncoder.encode(batch)) == .badData)
        try b.replica.setPolicies(MergePolicies(entities: ["note": .init(unique: .keepBoth)]))
        try b.replica.setPolicies(MergePolicies(entities: ["note": .init(deletes: .editWins)]))
        try TestStore.sync(a, b)
        #expect(try a.replica.policies() == b.replica.policies())
        #expect(try a.dump() == b.dump())
    }

    @Test("policies at the last revision are an error with a name, never a crash")
    func lastRevision() throws {
        let store = try replicas()[0]
        for revision in [Int.max, Int(Int32.max)] {
            var policies = MergePolicies(entities: ["note": .init(deletes: .editWins)])
            policies.revision = revision
            let json = try policies.json()
            try store.run(
                "INSERT OR REPLACE INTO syncd_meta(key, value) VALUES ('policies', '\(json)')")
            let replica = try StoreReplica(store.path)
            #expect(throws: SyncError(.refused, "")) {
                try replica.setPolicies(MergePolicies())
            }
            try replica.close()
        }
    }

    @Test(
        "more lives than there were transactions are refused",
        arguments: [Int(Int32.max), Int(Int32.max) - 1, 1_000_000])
    func inventedLife(_ incarnation: Int) throws {
        let stores = try replicas()
        let (a, b) = (stores[0], stores[1])
        try a.run("INSERT INTO note VALUES (9, 'nine')")
        var batch = try BatchDecoder.decode(
            try #require(a.replica.batches(since: b.replica.vector).last))
        batch.facts = batch.facts.map { fact in
            switch fact {
            case .life(let uid, let entity, let life):
                return .life(
                    uid, entity: entity,
                    Life(life.dot, kind: life.kind, incarnation: incarnation))
            case .cell(let uid, let entity, let cell, let version):
                return .cell(
                    uid, entity: entity, cell: cell,
                    Version(version.dot, incarnation: incarnation, value: version.value))
            case .alias: return fact
            }
        }
        #expect(refusal(b, try BatchEncoder.encode(batch)) == .badData)
        try TestStore.sync(a, b)
        #expect(try a.dump() == b.dump())
    }
}

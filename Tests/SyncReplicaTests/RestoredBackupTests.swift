import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// A file that was put back to an earlier state with its identity, and batches of somebody who
/// writes in the name of others.
@Suite("Own transactions that come from elsewhere", .timeLimit(.minutes(15)))
struct RestoredBackupTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, note INTEGER REFERENCES note(id));
        INSERT INTO note VALUES (1, 'one'), (2, 'two'), (3, 'three');
        INSERT INTO tag VALUES ('first', 1)
        """

    private func pair(
        isSigning: Bool = false
    ) async throws -> (a: RestoredFile, b: RestoredFile, remote: MemoryRemote) {
        let a = try RestoredFile(
            folder.file("a.db"), schema: Self.schema, isSigning: isSigning)
        let remote = MemoryRemote(store: try await a.withReplica { $0.storeID })
        try await a.sync(remote)
        return (a, try await RestoredFile(folder.file("b.db"), from: remote), remote)
    }

    private static let all = "SELECT text FROM note ORDER BY text"
    private static let whole = """
        SELECT text, name FROM note LEFT JOIN tag ON tag.note = note.id
        UNION ALL SELECT NULL, name FROM tag WHERE note IS NULL ORDER BY 1, 2
        """

    private func expectRefused(_ file: RestoredFile, _ remote: MemoryRemote) async throws {
        let error = try await #require(throws: SyncError.self) { try await file.sync(remote) }
        #expect(error.code == .refused, "\(error)")
        #expect(error.reason.contains("restored from a backup"))
        #expect(error.reason.contains("another program writes under its identity"))
        #expect(error.reason.contains("the batch batch"), "the error names the batch: \(error)")
        #expect(error.hint?.contains("synctool doctor --renew-identity DB") == true)
    }

    /// Everybody twice, so that all have all.
    private func settle(_ remote: MemoryRemote, _ files: RestoredFile...) async throws {
        for _ in 0..<2 { for file in files { try await file.sync(remote) } }
    }

    @Test(
        "a restored file is told from one that is merely behind", arguments: 0..<4, [false, true])
    func refused(writes: Int, isSigning: Bool) async throws {
        let (a, b, remote) = try await pair(isSigning: isSigning)
        try a.keep()
        for number in 0..<2 {
            try a.run("INSERT INTO note(text) VALUES ('lost \(number)')")
            try await a.sync(remote)
        }
        try await b.sync(remote)
        try a.restore()
        // Fewer than were lost, as many, and more.
        for number in 0..<writes { try a.run("INSERT INTO note(text) VALUES ('new \(number)')") }
        let before = try a.rows(Self.all)
        for _ in 0..<2 { try await expectRefused(a, remote) }
        #expect(try a.rows(Self.all) == before)
        await #expect(throws: SyncError(.refused, "")) {
            _ = try await a.withReplica { try await Exchange($0, with: remote).push() }
        }
        try await a.renew()
        try await settle(remote, a, b)
        #expect(try a.rows(Self.whole) == b.rows(Self.whole))
        #expect(try a.rows(Self.all).count == 5 + writes, "nothing was lost, nothing came twice")
        let c = try await RestoredFile(folder.file("c.db"), from: remote)
        #expect(try c.rows(Self.whole) == b.rows(Self.whole))
    }

    @Test("a set has what was added before the backup was restored, and since")
    func set() async throws {
        let a = try RestoredFile(
            folder.file("a.db"),
            schema: """
                CREATE TABLE note(id INTEGER PRIMARY KEY, tags);
                INSERT INTO note VALUES (1, '["first"]')
                """)
        try await a.withReplica {
            try $0.setPolicies(
                MergePolicies(entities: ["note": .init(columns: ["tags": .set])]))
        }
        let remote = MemoryRemote(store: try await a.withReplica { $0.storeID })
        try await a.sync(remote)
        let b = try await RestoredFile(folder.file("b.db"), from: remote)
        try a.run(#"UPDATE note SET tags = '["first","kept"]'"#)
        try await a.sync(remote)
        try a.keep()
        try a.run(#"UPDATE note SET tags = '["first","kept","lost"]'"#)
        try await a.sync(remote)
        try await b.sync(remote)
        try a.restore()
        try a.run(#"UPDATE note SET tags = '["first","since"]'"#)
        try await expectRefused(a, remote)
        try await a.renew()
        try await settle(remote, a, b)
        for file in [a, b] {
            let tags = try file.strings("SELECT value FROM note, json_each(tags) ORDER BY 1")
            #expect(tags == ["first", "lost", "since"])
        }
    }

    @Test(
        "what others did to lost objects holds; what was not sent before is there once",
        arguments: [false, true])
    func converges(isSigning: Bool) async throws {
        let (a, b, remote) = try await pair(isSigning: isSigning)
        try a.run("INSERT INTO note(text) VALUES ('not sent before the backup')")
        _ = try await a.withReplica { try $0.vector }
        try a.keep()
        try a.run(
            "INSERT INTO note(text) VALUES ('lost'); UPDATE note SET text = 'ONE' WHERE id = 1")
        try await a.sync(remote)
        try await b.sync(remote)
        try b.run("DELETE FROM note WHERE id = 3; UPDATE note SET text = 'two of b' WHERE id = 2")
        try await b.sync(remote)
        try a.restore()
        try a.run(
            """
            INSERT INTO note(text) VALUES ('new');
            INSERT INTO tag SELECT 'new', id FROM note WHERE text = 'new'
            """)
        try await expectRefused(a, remote)
        try await a.renew()
        try await settle(remote, a, b)
        #expect(try a.rows(Self.whole) == b.rows(Self.whole))
        let texts = try a.strings(Self.all)
        #expect(texts == ["ONE", "lost", "new", "not sent before the backup", "two of b"])
        try a.run("UPDATE note SET text = 'goes on' WHERE text = 'new'")
        try await settle(remote, a, b)
        #expect(try b.rows("SELECT 1 FROM note WHERE text = 'goes on'").count == 1)
    }

    @Test(
        "a copy that sends what the first had not sent is no restored file",
        arguments: [false, true])
    func copies(isSigning: Bool) async throws {
        let (a, b, remote) = try await pair(isSigning: isSigning)
        try a.run("INSERT INTO note(text) VALUES ('not sent')")
        _ = try await a.withReplica { try $0.vector }
        let copy = try a.copied(to: folder.file("copy.db"))
        try await copy.sync(remote)
        try a.run("INSERT INTO note(text) VALUES ('of a')")
        try await settle(remote, a, b, copy)
        #expect(try a.rows(Self.whole) == b.rows(Self.whole))
        #expect(try a.rows(Self.whole) == copy.rows(Self.whole))
        #expect(try a.rows(Self.all).count == 5)
    }

    @Test(
        "renewing a file that was not restored costs nothing but its name",
        arguments: [false, true])
    func renewedForNothing(isSigning: Bool) async throws {
        let (a, b, remote) = try await pair(isSigning: isSigning)
        try a.run("INSERT INTO note(text) VALUES ('not sent')")
        try await a.renew()
        try a.run("UPDATE note SET text = 'two of a' WHERE id = 2")
        try await settle(remote, a, b)
        #expect(try a.rows(Self.whole) == b.rows(Self.whole))
        #expect(try a.withReplicaConflicts() == 0)
    }

    // MARK: Forged

    @Test(
        "a transaction in a replica's own name is not merged",
        arguments: [1, 1000, Int64.max - 100])
    func forged(ahead: Int64) async throws {
        let (a, b, remote) = try await pair()
        try b.run("UPDATE note SET text = 'forged' WHERE id = 1")
        let (own, vector) = try await a.withReplica { ($0.replicaID, try $0.vector) }
        let bytes = try await b.withReplica { try $0.batches(since: vector) }
        let first = try #require(bytes.first)
        var batch = try BatchDecoder.decode(first)
        let header = batch.transactions[0].header
        let dot = Dot(own, min(vector[own], .max - ahead) + ahead)
        batch.transactions[0].header = TransactionHeader(
            dot, time: header.time, seen: header.seen.joined(vector))
        batch.facts = batch.facts.map { fact in
            guard case .cell(let uid, let entity, let cell, let version) = fact else { return fact }
            return .cell(
                uid, entity: entity, cell: cell,
                Version(dot, incarnation: version.incarnation, value: version.value))
        }
        batch.upTo = vector.joined(VersionVector([dot]))
        let forged = try BatchEncoder.encode(batch)
        let error = try await #require(throws: SyncError.self) {
            _ = try await a.withReplica { try $0.merge(forged) }
        }
        #expect(error.code == .refused)
        #expect(error.reason.contains(batch.sender.description), "who wrote it: \(error)")
        try await remote.append(forged)
        try a.run("UPDATE note SET text = 'edit of a' WHERE id = 2")
        try await expectRefused(a, remote)
        #expect(
            try a.strings(Self.all) == ["edit of a", "one", "three"])
    }

    @Test("a snapshot that says all was collected deletes nothing")
    func emptySnapshot() async throws {
        let (a, b, remote) = try await pair()
        try await settle(remote, a, b)
        let (vector, bytes) = try await a.withReplica {
            (try $0.vector, try $0.batches(since: VersionVector()))
        }
        let first = try #require(bytes.first)
        var batch = try BatchDecoder.decode(first)
        let nobody = ReplicaID.random()
        let header = TransactionHeader(
            Dot(nobody, 1), time: HybridTime(milliseconds: Timestamp.now().milliseconds),
            seen: VersionVector())
        batch.sender = nobody
        batch.transactions = [Batch.Transaction(header)]
        batch.facts = []
        batch.extras.numbers = [:]
        batch.hasGaps = true
        batch.collected = vector
        batch.upTo = vector.joined(VersionVector([header.dot]))
        try await remote.append(BatchEncoder.encode(batch))
        for file in [a, b] {
            let report = try await file.sync(remote)
            #expect(report.problems.contains { $0.reason.contains("leaves out") }, "\(report)")
            #expect(try file.rows(Self.all).count == 3)
            #expect(try file.rows("SELECT * FROM tag").count == 1)
        }
        // Nor does one that claims transactions which nobody has.
        batch.facts = try BatchDecoder.decode(bytes[0]).facts
        batch.transactions = try BatchDecoder.decode(bytes[0]).transactions
        batch.upTo.advance(to: Dot(ReplicaID.random(), 1 << 40))
        let claiming = try BatchEncoder.encode(batch)
        await #expect(throws: SyncError(.badData, "")) {
            _ = try await b.withReplica { try $0.merge(claiming) }
        }
        try a.run("INSERT INTO note(text) VALUES ('after')")
        try await settle(remote, a, b)
        #expect(try b.rows(Self.all).count == 4)
    }

    // MARK: At random

    /// Three replicas that write, synchronise, keep a backup and get it back at random. One that is
    /// refused is renewed. In the end all are equal, and every row is there that was sent, or
    /// written and not deleted or restored away since.
    @Test("restored replicas converge", arguments: TestSeed.each(of: 1...25))
    func random(seed: TestSeed) async throws {
        var random = seed.random
        let (a, b, remote) = try await pair(isSigning: seed.value % 3 != 0)
        let files = [a, b, try await RestoredFile(folder.file("c.db"), from: remote)]
        for file in files { try file.keep() }
        var renewals = 0
        for step in 0..<60 {
            let file = files[Int.random(in: 0..<3, using: &random)]
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<5: try file.run("INSERT INTO note(text) VALUES ('row \(step)')")
            case 5..<8:
                try file.run(
                    "UPDATE note SET text = text || '.' WHERE id % 3 = \(step % 3) AND length(text) < 40"
                )
            case 8:
                try file.run(
                    """
                    DELETE FROM tag WHERE note = (SELECT min(id) FROM note WHERE id > \(step % 7));
                    DELETE FROM note WHERE id = (SELECT min(id) FROM note WHERE id > \(step % 7))
                    """)
            case 9:
                try file.run("INSERT OR REPLACE INTO tag SELECT 't\(step % 4)', max(id) FROM note")
            case 10, 11: try file.keep()
            case 12: try file.restore()
            default:
                if try await isRenewed(file, remote) { renewals += 1 }
            }
        }
        for _ in 0..<4 {
            for file in files where try await isRenewed(file, remote) { renewals += 1 }
        }
        let rows = try files.map { try $0.rows(Self.whole) }
        #expect(rows[0] == rows[1] && rows[1] == rows[2], "\(seed), \(renewals) renewals")
    }

    /// Synchronises; a replica that is refused is renewed first.
    private func isRenewed(_ file: RestoredFile, _ remote: MemoryRemote) async throws -> Bool {
        do {
            try await file.sync(remote)
            return false
        } catch let error as SyncError where error.code == .refused {
            #expect(error.hint?.contains("--renew-identity") == true, "\(error)")
            try await file.renew()
            try await file.sync(remote)
            return true
        }
    }
}

extension RestoredFile {
    fileprivate func withReplicaConflicts() throws -> Int {
        try rows("SELECT 1 FROM syncd_conflict WHERE closed IS NULL").count
    }
}

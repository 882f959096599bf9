import SyncTesting
import Synchronization
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncStorage

/// What a store sends is made and sent batch by batch.
@Suite("Sending in parts")
struct OutgoingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT, rank INTEGER,
          owner INTEGER REFERENCES owner(id));
        INSERT INTO owner VALUES (1, 'ann'), (2, 'bob');
        INSERT INTO item WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c LIMIT 40)
          SELECT n, 'old ' || n, n, 1 + n % 2 FROM c;
        """

    /// A store that sends batches of a few facts, with rows that are older than history, and
    /// transactions of two rows each.
    private func store(_ name: String, batchFactsMax: Int = 20) throws -> TestStore {
        let path = folder.file(name)
        try TestStore(path, schema: Self.schema).replica.close()
        let replica = try StoreReplica(
            path, wall: { Timestamp.now().milliseconds }, isVerifying: true, olderRowsMax: 10,
            batchFactsMax: batchFactsMax)
        let store = try TestStore(path, replica)
        _ = try replica.vector
        for number in 0..<10 {
            try store.run(
                """
                BEGIN;
                INSERT INTO item(text, rank, owner) VALUES ('left \(number)', 0, 1);
                INSERT INTO item(text, rank, owner) VALUES ('right \(number)', 0, 2);
                UPDATE item SET rank = rank + 1 WHERE id = \(number + 1);
                COMMIT
                """)
            // Each commit is a transaction of its own.
            _ = try replica.vector
        }
        return store
    }

    private func clone(_ remote: MemoryRemote, at path: String) async throws -> TestStore {
        var batches: [[UInt8]] = []
        for item in try await remote.catalog(since: VersionVector()).path(since: VersionVector()) {
            batches.append(try await remote.fetch(item))
        }
        return try TestStore(path, StoreReplica.clone(at: path, from: batches))
    }

    @Test(
        "batches have each transaction once, in the merge order, each from where the last one led",
        arguments: [1, 7, 20, 100_000])
    func cover(factsMax: Int) throws {
        let a = try store("a.db")
        let vector = try a.replica.vector
        let numbers = try a.rows("SELECT number FROM syncd_header ORDER BY place")
        let whole = try a.replica.batches(since: VersionVector(), factsMax: .max)
            .map(BatchDecoder.decode)
        #expect(whole.count == 1)
        let facts = Set(whole.flatMap(\.facts))
        for count in [0, 3, numbers.count - 1, numbers.count] {
            var since = VersionVector()
            for number in numbers.prefix(count) {
                guard case .integer(let number) = number[0] else { continue }
                since.advance(to: Dot(a.replica.replicaID, number))
            }
            var from = since
            var found: [Fact] = []
            var order: [[Value]] = []
            let batches = try a.replica.batches(since: since, factsMax: factsMax)
                .map(BatchDecoder.decode)
            for batch in batches {
                #expect(batch.from == from)
                from = batch.upTo
                found += batch.facts
                order += batch.transactions.map { [.integer($0.header.dot.number)] }
                #expect(batch.factCount <= factsMax || batch.transactions.count == 1)
            }
            #expect(order == Array(numbers.dropFirst(count)))
            #expect(found.count == Set(found).count)
            #expect(Set(found) == facts.filter { !since.covers($0.dot) })
            #expect(from == vector)
        }
    }

    @Test(
        "a push that ends between two batches is continued by the next one", arguments: [0, 1, 4])
    func interrupted(after count: Int) async throws {
        let a = try store("a.db")
        let remote = MemoryRemote(store: a.replica.storeID)
        let whole = try a.replica.outgoing(since: VersionVector()).count
        #expect(whole > 8, "there is something to interrupt")
        // A push begins with two calls, and has one for each batch.
        await remote.failCall(count + 2, with: count % 2 == 0 ? .before : .after)
        let error = await #expect(throws: SyncError.self) {
            _ = try await Exchange(a.replica, with: remote).push()
        }
        #expect(error?.code == .unreachable)
        let items = try await remote.catalog(since: VersionVector()).items
        #expect((1..<whole).contains(items.count) || items.isEmpty && count == 0)
        if !items.isEmpty {
            let part = try await clone(remote, at: folder.file("part.db"))
            #expect(
                try part.rows("SELECT count(*) FROM item WHERE text LIKE 'left%'")
                    == part.rows("SELECT count(*) FROM item WHERE text LIKE 'right%'"),
                "no transaction is half there")
            #expect(try part.rows("PRAGMA foreign_key_check").isEmpty)
        }
        await remote.failNoMore()
        let report = try await Exchange(a.replica, with: remote).push()
        #expect(report.head == (try a.replica.vector))
        func sum(_ items: [BatchCatalog.Item]) -> Int {
            items.reduce(0) { $0 + $1.envelope.transactionCount }
        }
        let all = try await remote.catalog(since: VersionVector()).items
        #expect(all.count == whole)
        #expect(report.pushedCount == sum(all) - sum(items), "what was there is not sent again")
        let b = try await clone(remote, at: folder.file("b.db"))
        #expect(try b.dump() == a.dump())
    }

    @Test("what is written while batches are sent comes after them")
    func writtenMeanwhile() throws {
        let a = try store("a.db")
        let outgoing = try a.replica.outgoing(since: VersionVector())
        let before = try a.dump()
        let vector = try a.replica.vector
        let first = try outgoing.batch(at: 0)
        try a.run("UPDATE item SET text = 'new ' || id; DELETE FROM item WHERE id > 20")
        let rest = try (1..<outgoing.count).map(outgoing.batch)
        let b = try TestStore(
            folder.file("b.db"), StoreReplica.clone(at: folder.file("b.db"), from: [first] + rest))
        #expect(try b.dump() == before)
        #expect(try b.replica.vector == vector)
        try b.pull(from: a)
        #expect(try b.dump() == a.dump())
    }

    @Test("a store that is served offers its batches in portions, and what is written meanwhile")
    func portions() async throws {
        let a = try store("a.db")
        let b = try a.copy(at: folder.file("b.db"))
        let remote = ReplicaRemote(a.replica, portionBytesMax: 1)
        #expect(try await remote.catalog(since: b.replica.vector).items.count == 1)
        let isWritten = Mutex(false)
        let exchange = Exchange(
            b.replica, with: remote,
            progress: { report in
                isWritten.withLock { isWritten in
                    guard !isWritten, report.pulledCount >= 5 else { return }
                    isWritten = true
                    try? a.run("UPDATE item SET text = 'late' WHERE id = 3")
                }
            })
        let report = try await exchange.pull()
        #expect(report.problems.isEmpty)
        #expect(try b.rows("SELECT text FROM item WHERE id = 3") == [["late"]])
        #expect(try b.dump() == a.dump())
        #expect(try await remote.catalog(since: b.replica.vector).items.isEmpty)
    }

    /// A served store whose connection breaks: what is asked next is answered by another process.
    private actor ServedAgain: ForwardingRemote {
        private let replica: StoreReplica
        private var remote: ReplicaRemote<StoreReplica>
        private var fetchesLeft: Int
        private(set) var connections = 1

        init(_ replica: StoreReplica, breakingAtFetch count: Int) {
            self.replica = replica
            remote = ReplicaRemote(replica, portionBytesMax: 1)
            fetchesLeft = count
        }

        func inner() -> ReplicaRemote<StoreReplica> { remote }

        func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] {
            fetchesLeft -= 1
            guard fetchesLeft == 0 else { return try await remote.fetch(item) }
            remote = ReplicaRemote(replica, portionBytesMax: 1)
            connections += 1
            throw SyncError(.unreachable, "the connection broke")
        }
    }

    @Test("a pull goes on when its connection broke between two portions", arguments: [1, 2, 4])
    func reconnected(atFetch count: Int) async throws {
        let a = try store("a.db")
        let b = try a.copy(at: folder.file("b.db"))
        let remote = ServedAgain(a.replica, breakingAtFetch: count)
        let report = try await Exchange(b.replica, with: remote).pull()
        #expect(await remote.connections == 2)
        #expect(report.problems.isEmpty)
        #expect(try b.replica.vector == a.replica.vector)
        #expect(try b.dump() == a.dump())
    }

    @Test(
        "a restored file that has all that it had sent gets the rest in portions",
        arguments: [false, true])
    func behindPortions(isSigning: Bool) async throws {
        let a = try RestoredFile(
            folder.file("a.db"), schema: Self.schema, isSigning: isSigning)
        let snapshot = try await a.withReplica { try $0.batches(since: VersionVector()) }
        let path = folder.file("b.db")
        try StoreReplica.clone(at: path, from: snapshot).close()
        let b = try TestStore(
            path, StoreReplica(path, wall: { Timestamp.now().milliseconds }, batchFactsMax: 1))
        for number in 0..<3 {
            try a.run("INSERT INTO item(text) VALUES ('of a \(number)')")
            _ = try await a.withReplica { try $0.vector }
        }
        try a.keep()
        for number in 0..<3 {
            try b.run("INSERT INTO item(text) VALUES ('of b \(number)')")
            let since = try b.replica.vector
            for batch in try await a.withReplica({ try $0.batches(since: since) }) {
                #expect(try b.replica.merge(batch))
            }
        }
        try a.restore()
        let remote = ReplicaRemote(b.replica, portionBytesMax: 1)
        let report = try await a.withReplica { try await Exchange($0, with: remote).sync() }
        #expect(report.problems.isEmpty)
        let rows = "SELECT text FROM item ORDER BY text"
        #expect(try a.rows(rows) == b.rows(rows))
        #expect(try a.rows(rows).count == 46)
        #expect(
            try await a.withReplica { try $0.vector } == b.replica.vector)
    }

    @Test("transactions in a restored file's own name are found in a later portion, too")
    func restoredBehindPortions() async throws {
        let a = try RestoredFile(folder.file("a.db"), schema: Self.schema)
        let snapshot = try await a.withReplica { try $0.batches(since: VersionVector()) }
        let path = folder.file("b.db")
        try StoreReplica.clone(at: path, from: snapshot).close()
        let b = try TestStore(
            path, StoreReplica(path, wall: { Timestamp.now().milliseconds }, batchFactsMax: 1))
        try a.keep()
        for number in 0..<3 {
            try b.run("INSERT INTO item(text) VALUES ('of b \(number)')")
            _ = try b.replica.vector
        }
        try a.run("INSERT INTO item(text) VALUES ('lost')")
        let since = try b.replica.vector
        for batch in try await a.withReplica({ try $0.batches(since: since) }) {
            #expect(try b.replica.merge(batch))
        }
        try a.restore()
        try a.run("INSERT INTO item(text) VALUES ('again')")
        let error = await #expect(throws: SyncError.self) {
            try await a.withReplica {
                _ = try await Exchange($0, with: ReplicaRemote(b.replica, portionBytesMax: 1))
                    .push()
            }
        }
        #expect(error?.code == .refused)
    }

    @Test("a receiver that got the next portion elsewhere is offered what follows it")
    func gotElsewhere() async throws {
        let a = try store("a.db")
        let b = try a.copy(at: folder.file("b.db"))
        let remote = ReplicaRemote(a.replica, portionBytesMax: 1)
        #expect(try await remote.catalog(since: b.replica.vector).items.count == 1)
        let batches = try a.replica.batches(since: b.replica.vector)
        #expect(batches.count > 5)
        for batch in batches.prefix(3) { #expect(try b.replica.merge(batch)) }
        let report = try await Exchange(b.replica, with: remote).pull()
        #expect(report.problems.isEmpty)
        #expect(try b.replica.vector == a.replica.vector)
        #expect(try b.dump() == a.dump())
    }

    @Test("a replica that waits for a snapshot gets what is new from a store that has none")
    func behind() async throws {
        let a = try store("a.db")
        let b = try a.copy(at: folder.file("b.db"))
        for batch in try a.replica.batches(since: b.replica.vector).prefix(2) {
            #expect(try b.replica.merge(batch))
        }
        // What another member has collected.
        let cut = VersionVector([Dot(a.replica.replicaID, 1)])
        try b.replica.run("test") { try Metadata($0.connection).set(.behind, to: cut) }
        let remote = ReplicaRemote(a.replica, portionBytesMax: 1)
        _ = try await Exchange(b.replica, with: remote).pull()
        #expect(try b.replica.behind == cut)
        #expect(try b.replica.vector == a.replica.vector)
        #expect(try b.dump() == a.dump())
    }

    /// A server whose every catalog leads further, and never to what the receiver asks about.
    private struct Endless: Remote {
        let store: StoreID
        let own: Dot
        let other: ReplicaID

        func head() async throws -> VersionVector { VersionVector([own]) }

        func catalog(since: VersionVector) async throws -> BatchCatalog {
            var upTo = since
            upTo.advance(to: own)
            upTo.advance(to: Dot(other, since[other] + 1))
            let batch = Batch(
                store: store, sender: other, from: upTo, upTo: upTo, entities: [],
                transactions: [], facts: [])
            let envelope = BatchEnvelope(batch, contentBytes: 0, payload: [])
            return BatchCatalog([.init(name: "\(since[other])", envelope: envelope)])
        }

        func fetch(_ item: BatchCatalog.Item) async throws -> [UInt8] { [] }
        func append(_ batch: [UInt8]) async throws {}
        func acknowledge(_ vector: VersionVector, of replica: ReplicaID) async throws {}
        func acknowledged() async throws -> [ReplicaID: VersionVector] { [:] }
        func noteSums(_ sums: [UInt8], of replica: ReplicaID) async throws {}
        func notedSums() async throws -> [ReplicaID: [UInt8]] { [:] }
    }

    @Test("a server that lists batches without end is given up", .timeLimit(.minutes(5)))
    func endless() async throws {
        let a = try store("a.db")
        let other = try a.copy(at: folder.file("b.db")).replica
        let own = Dot(a.replica.replicaID, try a.replica.vector[a.replica.replicaID])
        let remote = Endless(store: a.replica.storeID, own: own, other: other.replicaID)
        try a.replica.run("test") { session in
            try session.transact { try $0.settings.set(.sent, to: .integer(1)) }
        }
        let error = await #expect(throws: SyncError.self) {
            _ = try await Exchange(a.replica, with: remote).push()
        }
        #expect(error?.code == .badData)
        #expect(error?.reason.contains("without end") == true, "\(String(describing: error))")
    }

    // MARK: Large values

    @Test("large values travel few at a time, and not with what else was written to their rows")
    func largeValues() throws {
        let path = folder.file("a.db")
        try TestStore(
            path, schema: "CREATE TABLE picture(id INTEGER PRIMARY KEY, bytes BLOB, rank INTEGER)"
        ).replica.close()
        let factsMax = 60
        let a = try TestStore(
            path,
            StoreReplica(
                path, wall: { Timestamp.now().milliseconds }, isVerifying: true,
                batchFactsMax: factsMax))
        func parts(since: VersionVector) throws -> [OutgoingPart] {
            try #require(a.replica.outgoing(since: since) as? OutgoingExtraction).parts
        }
        let start = try a.replica.vector
        let size = 10 * OutgoingParts.largeBytes
        for number in 0..<10 {
            try a.run("INSERT INTO picture VALUES (\(number), zeroblob(\(size)), 0)")
            _ = try a.replica.vector
        }
        let inserts = try parts(since: start)
        #expect(inserts.reduce(0) { $0 + $1.transactionCount } == 10)
        let most = try #require(inserts.map(\.recordBytes).max())
        #expect((size...factsMax * OutgoingParts.largeBytes).contains(most))
        let b = try a.copy(at: folder.file("b.db"))
        try b.pull(from: a)
        for number in 0..<10 {
            try a.run("UPDATE picture SET rank = 1 WHERE id = \(number)")
            _ = try a.replica.vector
        }
        let updates = try parts(since: b.replica.vector)
        #expect(updates.reduce(0) { $0 + $1.factCount } == 10)
        #expect(updates.reduce(0) { $0 + $1.recordBytes } < size, "without the pictures")
        try b.pull(from: a)
        #expect(try b.dump() == a.dump())
    }

    // MARK: Limits

    private func part(
        transactions: Int = 1, changes: Int = 1, facts: Int = 1, bytes: Int = 1
    ) -> OutgoingPart {
        var part = OutgoingPart(after: VersionVector())
        part.transactionCount = transactions
        part.changeCount = changes
        part.factCount = facts
        part.recordBytes = bytes
        return part
    }

    @Test("a batch ends before any of its limits")
    func limits() {
        func divided(_ part: OutgoingPart) -> [Range<Int>] {
            OutgoingBatches.divided(
                Array(repeating: part, count: 4), factsMax: 99)
        }
        #expect(divided(part()) == [0..<4])
        #expect(divided(part(transactions: OutgoingBatches.transactionsMax / 2)) == [0..<2, 2..<4])
        #expect(divided(part(facts: 33)) == [0..<3, 3..<4])
        // Rows that were updated again and again: many changes, and few facts.
        #expect(divided(part(changes: OutgoingBatches.changesMax / 2)) == [0..<2, 2..<4])
        #expect(
            divided(part(bytes: OutgoingBatches.recordBytesMax)) == [0..<1, 1..<2, 2..<3, 3..<4])
        #expect(divided(part(facts: .max / 8)) == [0..<1, 1..<2, 2..<3, 3..<4])
    }
}

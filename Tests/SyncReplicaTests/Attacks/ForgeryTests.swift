import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Batches that an attacker makes of real ones: each is refused for its own reason, or does what any
/// member may do and is named; the others go on.
@Suite("Attacks: forged batches", .timeLimit(.minutes(10)))
struct ForgeryTests {
    private let folder: TemporaryFolder
    private let attacker = Attacker()

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO note VALUES (1, 'one'), (2, 'two')
        """
    private static let all = "SELECT text FROM note ORDER BY text"

    private func pair() async throws -> (a: RestoredFile, b: RestoredFile, remote: MemoryRemote) {
        let a = try RestoredFile(folder.file("a.db"), schema: Self.schema, isSigning: true)
        let remote = MemoryRemote(store: try await a.withReplica { $0.storeID })
        try await a.sync(remote)
        let b = try await RestoredFile(folder.file("b.db"), from: remote)
        try await b.sync(remote)
        return (a, b, remote)
    }

    private func error(
        of file: RestoredFile, merging bytes: [UInt8]
    ) async throws -> SyncError.Code? {
        do {
            _ = try await file.withReplica { try $0.merge(bytes) }
            return nil
        } catch let error as SyncError {
            return error.code
        }
    }

    /// Both still write, send and merge.
    private func goOn(
        _ a: RestoredFile, _ b: RestoredFile, _ remote: MemoryRemote
    ) async throws {
        try a.run("INSERT INTO note(text) VALUES ('later of a')")
        try b.run("INSERT INTO note(text) VALUES ('later of b')")
        for file in [a, b, a, b] { try await file.sync(remote) }
        #expect(try a.rows(Self.all) == b.rows(Self.all))
        #expect(try a.strings(Self.all).filter { $0.hasPrefix("later of") }.count == 2)
    }

    /// The fact of the text 'one', as another transaction states it.
    private func edit(
        _ text: String, by dot: Dot, in batch: Batch
    ) throws -> Fact {
        let fact = batch.facts.compactMap { fact -> Fact? in
            guard case .cell(let uid, let entity, let cell, let version) = fact,
                version.value.contains(.value(.text("one")))
            else { return nil }
            return .cell(
                uid, entity: entity, cell: cell,
                Version(dot, incarnation: version.incarnation, value: [.value(.text(text))]))
        }
        return try #require(fact.first)
    }

    /// A batch with one edit by the attacker, on top of what a file has merged.
    private func edited(
        _ file: RestoredFile, time: HybridTime, _ change: (inout Batch) throws -> Void = { _ in }
    ) async throws -> [UInt8] {
        try await attacker.batch(of: file) { batch in
            let own = attacker.transaction(seen: batch.upTo, at: time)
            let fact = try edit("by the attacker", by: own.header.dot, in: batch)
            batch.from = batch.upTo
            batch.upTo.advance(to: own.header.dot)
            batch.transactions = [own]
            batch.facts = [fact]
            batch.extras.numbers = [:]
            try change(&batch)
        }
    }

    @Test("a clock in the year 9999 wins a concurrent edit, which is kept, and no later one")
    func farFuture() async throws {
        let (a, b, remote) = try await pair()
        try await remote.append(
            try await edited(a, time: HybridTime(milliseconds: 253_370_764_800_000)))
        try b.run("UPDATE note SET text = 'concurrent' WHERE id = 1")
        for file in [b, a, b] { try await file.sync(remote) }
        #expect(try a.strings(Self.all) == ["by the attacker", "two"])
        let lost = try await a.withReplica { try $0.conflicts() }
            .flatMap { $0.losing.values.pairs.map(\.value) }
        #expect(lost.contains(.text("concurrent")))
        try b.run("UPDATE note SET text = 'later' WHERE id = 1")
        for file in [b, a, b] { try await file.sync(remote) }
        #expect(try a.strings(Self.all) == ["later", "two"])
        let members = try await a.withReplica { try $0.members().map(\.replica) }
        #expect(members.contains(attacker.replica), "it is named")
        try await goOn(a, b, remote)
    }

    @Test("policies with the last revision are refused with their batch")
    func policies() async throws {
        let (a, b, remote) = try await pair()
        let bytes = try await edited(a, time: HybridTime(milliseconds: 1_700_000_000_000)) {
            $0.extras.policies = #"{"entities":{},"revision":9223372036854775807}"#
        }
        #expect(try await error(of: b, merging: bytes) == .badData)
        try await remote.append(bytes)
        let told = try await b.sync(remote).problems.map(\.reason).joined()
        #expect(told.contains("revision"), "\(told)")
        try await goOn(a, b, remote)
        #expect(!(try a.strings(Self.all)).contains("by the attacker"))
    }

    @Test("nobody sends an unsigned batch in the name of a replica that signs")
    func unsignedSender() async throws {
        let (a, b, remote) = try await pair()
        let own = try await a.withReplica { $0.replicaID }
        var batch = try BatchDecoder.decode(
            try await edited(a, time: HybridTime(milliseconds: 1_700_000_000_000)))
        batch.sender = own
        batch.proofs = [:]
        let bytes = try BatchEncoder.encode(batch)
        #expect(try await error(of: b, merging: bytes) == .notSigned)
        try await remote.append(bytes)
        try await goOn(a, b, remote)
        #expect(!(try b.strings(Self.all)).contains("by the attacker"))
    }

    @Test("a batch that lost its signatures is refused, and is merged from its sender")
    func stripped() async throws {
        let (a, b, remote) = try await pair()
        try a.run("INSERT INTO note(text) VALUES ('of a')")
        let since = try await b.withReplica { try $0.vector }
        let sent = try await a.withReplica { try $0.batches(since: since) }
        var batch = try BatchDecoder.decode(sent[0])
        batch.proofs = [:]
        batch.sender = attacker.replica
        let bytes = try BatchEncoder.encode(batch)
        #expect(try await error(of: b, merging: bytes) == .notSigned)
        try await remote.append(bytes)
        try await goOn(a, b, remote)
        #expect(try b.strings(Self.all).contains("of a"))
    }

    /// What a has written since b merged, forwarded by the attacker with a's proof.
    private func forwarded(
        _ a: RestoredFile, to b: RestoredFile, _ change: (inout Batch) throws -> Void
    ) async throws -> [UInt8] {
        let since = try await b.withReplica { try $0.vector }
        let sent = try await a.withReplica { try $0.batches(since: since) }
        var batch = try BatchDecoder.decode(sent[0])
        batch.sender = attacker.replica
        batch.sums = nil
        try change(&batch)
        try attacker.sign(&batch)
        return try BatchEncoder.encode(batch, signing: attacker.key)
    }

    @Test("a chain with a hole, and one that ends at an anchor of another chain, prove nothing")
    func brokenChains() async throws {
        let (a, b, remote) = try await pair()
        let (own, other) = (
            try await a.withReplica { $0.replicaID }, try await b.withReplica { $0.replicaID }
        )
        for number in 0..<3 {
            try a.run("INSERT INTO note(text) VALUES ('row \(number)')")
            _ = try await a.withReplica { try $0.vector }
        }
        let hole = try await forwarded(a, to: b) { batch in
            let dot = batch.transactions[1].header.dot
            batch.transactions.remove(at: 1)
            batch.facts.removeAll { $0.dot == dot }
            for index in batch.transactions.indices {
                let header = batch.transactions[index].header
                // The attacker hides that one is missing.
                let seen = VersionVector(
                    header.seen.entries.map {
                        $0.replica == own ? Dot(own, min($0.number, dot.number - 1)) : $0
                    })
                batch.transactions[index].header = TransactionHeader(
                    header.dot, time: header.time, seen: seen)
            }
        }
        #expect(try await error(of: b, merging: hole) == .badData)
        let wrong = try await forwarded(a, to: b) { batch in
            let proof = try #require(batch.proofs[own])
            // A link that the attacker has signed.
            let anchor = try Anchor(
                proof.anchor.link, store: batch.store, replica: own, with: attacker.key)
            batch.proofs[own] = SignerProof(
                key: proof.key, first: proof.first, start: proof.start, anchor: anchor)
        }
        #expect(try await error(of: b, merging: wrong) == .badData)
        try await remote.append(hole)
        try await remote.append(wrong)
        try await goOn(a, b, remote)
        #expect(try b.strings(Self.all).filter { $0.hasPrefix("row") }.count == 3)
        #expect(other != own)
    }

    @Test("an old batch under a new name changes nothing")
    func replayed() async throws {
        let (a, b, remote) = try await pair()
        let old = try await a.withReplica { try $0.batches(since: VersionVector()) }
        try a.run("DELETE FROM note WHERE id = 1")
        try a.run("UPDATE note SET text = 'new' WHERE id = 2")
        for file in [a, b] { try await file.sync(remote) }
        for bytes in old { #expect(try await error(of: b, merging: bytes) == nil) }
        #expect(try b.strings(Self.all) == ["new"])
        try await goOn(a, b, remote)
    }

    @Test("values that a carrier has changed are found when the replicas compare")
    func changedByTheCarrier() async throws {
        let (a, b, remote) = try await pair()
        try a.run("INSERT INTO note(text) VALUES ('true words')")
        _ = try await a.withReplica { try $0.vector }
        let bytes = try await forwarded(a, to: b) { batch in
            batch.facts = batch.facts.map { fact in
                guard case .cell(let uid, let entity, let cell, let version) = fact,
                    version.value.contains(.value(.text("true words")))
                else { return fact }
                return .cell(
                    uid, entity: entity, cell: cell,
                    Version(
                        version.dot, incarnation: version.incarnation,
                        value: [.value(.text("changed"))]))
            }
        }
        // The limit: the chain does not cover values.
        #expect(try await error(of: b, merging: bytes) == nil)
        #expect(try b.strings(Self.all).contains("changed"))
        var found: [StateDifference] = []
        for file in [a, b, a] { found += try await file.sync(remote).differences }
        #expect(found.contains { $0.entities == ["note"] }, "\(found)")
    }
}

import Foundation
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Who wrote a transaction: what is proved is merged, what is not is passed over, and neither stops
/// a replica.
@Suite("Signatures", .timeLimit(.minutes(10)))
struct SignatureTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO note VALUES (1, 'one'), (2, 'two')
        """
    private static let all = "SELECT text FROM note ORDER BY text"

    private func pair(
        isSigning: Bool = true
    ) async throws -> (a: RestoredFile, b: RestoredFile, remote: MemoryRemote) {
        let a = try RestoredFile(
            folder.file("a.db"), schema: Self.schema, isSigning: isSigning)
        let remote = MemoryRemote(store: try await a.withReplica { $0.storeID })
        try await a.sync(remote)
        let b = try await RestoredFile(folder.file("b.db"), from: remote)
        try await b.sync(remote)
        return (a, b, remote)
    }

    /// Who forges: the key and the replica of somebody who may write to the remote.
    private struct Attacker {
        let replica = ReplicaID.random()
        let key = SigningKey.make()
    }

    /// A batch with one transaction in the name of a replica, as an attacker makes it of a real
    /// one.
    private func forged(
        _ name: ReplicaID, _ number: Int64, from file: RestoredFile, signedBy attacker: Attacker?
    ) async throws -> [UInt8] {
        let (vector, bytes) = try await file.withReplica {
            (try $0.vector, try $0.batches(since: VersionVector()))
        }
        var batch = try BatchDecoder.decode(try #require(bytes.first))
        let header = TransactionHeader(
            Dot(name, number), time: HybridTime(milliseconds: 1_900_000_000_000),
            seen: vector)
        let forged = batch.facts.compactMap { fact -> Fact? in
            guard case .cell(let uid, let entity, let cell, let version) = fact,
                version.value.contains(.value(.text("one")))
            else { return nil }
            return .cell(
                uid, entity: entity, cell: cell,
                Version(
                    header.dot, incarnation: version.incarnation, value: [.value(.text("FORGED"))]))
        }
        batch.facts = Array(forged.prefix(1))
        batch.transactions = [Batch.Transaction(header)]
        batch.from = vector
        batch.upTo = vector.joined(VersionVector([header.dot]))
        batch.extras = Batch.Extras()
        batch.proofs = [:]
        batch.sums = nil
        guard let attacker else { return try BatchEncoder.encode(batch) }
        batch.sender = attacker.replica
        func proof(_ replica: ReplicaID) throws -> SignerProof {
            let start = ChainLink(store: batch.store, replica: replica, first: 0)
            let link = replica == name ? start.following([header]) : start
            return SignerProof(
                key: attacker.key.verifying, first: 0, start: start,
                anchor: try Anchor(link, store: batch.store, replica: replica, with: attacker.key))
        }
        batch.proofs = [name: try proof(name), attacker.replica: try proof(attacker.replica)]
        return try BatchEncoder.encode(batch, signing: attacker.key)
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

    @Test(
        "a forged transaction is passed over, and both go on: forge, fork, ownmax",
        arguments: [1, 1_000, Int64(1) << 50], [false, true])
    func forgedInTheNameOfAnother(ahead: Int64, isSigned: Bool) async throws {
        let (a, b, remote) = try await pair()
        let (own, vector) = try await a.withReplica { ($0.replicaID, try $0.vector) }
        let bytes = try await forged(
            own, vector[own] + ahead, from: b, signedBy: isSigned ? Attacker() : nil)
        #expect(try await error(of: b, merging: bytes) == .notSigned)
        #expect(try await error(of: a, merging: bytes) == .impostor)
        try await remote.append(bytes)
        for turn in 0..<2 {
            try a.run("INSERT INTO note(text) VALUES ('real \(turn)')")
            for file in [a, b, a] {
                let report = try await file.sync(remote)
                let names = report.problems.map(\.reason).joined()
                // With the next number it may be covered before it is looked at.
                if file === b, turn == 0, ahead > 1 {
                    #expect(names.contains("signed"), "\(names)")
                }
            }
            #expect(try a.rows(Self.all) == b.rows(Self.all))
            #expect(try b.rows(Self.all).count == 3 + turn, "the edits of a arrive")
        }
        #expect(!(try b.strings(Self.all)).contains("FORGED"))
    }

    @Test("the first key of a replica is the only one")
    func otherKey() async throws {
        let (a, b, _) = try await pair()
        let attacker = Attacker()
        let vector = try await b.withReplica { try $0.vector }
        let own = try await a.withReplica { $0.replicaID }
        let bytes = try await forged(
            own, vector[own] + 1, from: b, signedBy: attacker)
        #expect(try await error(of: b, merging: bytes) == .notSigned)
        #expect(try b.strings(Self.all) == ["one", "two"])
    }

    @Test("two signed histories of one replica are a fork; neither hides the other")
    func fork() async throws {
        let (a, b, _) = try await pair()
        let since = try await b.withReplica { try $0.vector }
        try a.keep()
        var histories: [[[UInt8]]] = []
        for text in ["first", "second"] {
            try a.restore()
            try a.run("INSERT INTO note(text) VALUES ('\(text)')")
            histories.append(try await a.withReplica { try $0.batches(since: since) })
        }
        for bytes in histories[0] { #expect(try await error(of: b, merging: bytes) == nil) }
        for bytes in histories[1] { #expect(try await error(of: b, merging: bytes) == .forked) }
        #expect(try b.strings(Self.all) == ["first", "one", "two"])
    }

    @Test("a member that is removed is not heard, and is heard again when it is admitted")
    func members() async throws {
        let (a, b, remote) = try await pair()
        let (first, second) = (
            try await a.withReplica { $0.replicaID }, try await b.withReplica { $0.replicaID }
        )
        try b.run("INSERT INTO note(text) VALUES ('of b')")
        try await b.sync(remote)
        try await a.sync(remote)
        let members = try await a.withReplica { try $0.members() }
        #expect(Set(members.map(\.replica)) == [first, second])
        #expect(members.filter(\.isOwn).map(\.replica) == [first])
        #expect(members.allSatisfy { $0.signsAfter == 0 && !$0.isRemoved })
        try await a.withReplica { try $0.setMember(second, isRemoved: true) }
        try b.run("INSERT INTO note(text) VALUES ('later')")
        try await b.sync(remote)
        let report = try await a.sync(remote)
        #expect(report.problems.contains { $0.reason.contains("removed from the members") })
        #expect(try a.rows(Self.all).count == 3)
        try await a.withReplica { try $0.setMember(second, isRemoved: false) }
        try await a.sync(remote)
        #expect(try a.rows(Self.all).count == 4)
        await #expect(throws: SyncError(.refused, "")) {
            try await a.withReplica { try $0.setMember(first, isRemoved: true) }
        }
    }

    @Test("replicas of an unsigned store begin to sign one after the other")
    func upgrade() async throws {
        let (a, b, remote) = try await pair(isSigning: false)
        try a.run("INSERT INTO note(text) VALUES ('before')")
        try await a.sync(remote)
        try await b.sync(remote)
        let vector = try await a.withReplica { try $0.vector }
        let (member, isNew) = try await a.withReplica { try $0.startSigning() }
        #expect(isNew && member.signsAfter == vector[member.replica])
        #expect(try await a.withReplica { try $0.startSigning() }.isNew == false)
        for turn in 0..<3 {
            try a.run("INSERT INTO note(text) VALUES ('a \(turn)')")
            try b.run("INSERT INTO note(text) VALUES ('b \(turn)')")
            for file in [a, b, a] {
                let report = try await file.sync(remote)
                #expect(report.problems.isEmpty, "\(report.problems)")
            }
            #expect(try a.rows(Self.all) == b.rows(Self.all))
            if turn == 1 { try await b.withReplica { _ = try $0.startSigning() } }
        }
        let c = try await RestoredFile(folder.file("c.db"), from: remote)
        try await c.sync(remote)
        #expect(try c.rows(Self.all) == a.rows(Self.all))
        // What was sent before stays without a proof, what came later does not.
        let number = member.signsAfter + 1
        let bytes = try await forged(member.replica, number + 100, from: b, signedBy: nil)
        #expect(try await error(of: c, merging: bytes) == .notSigned)
    }

    @Test("a copied file merges what the replica that it was copied from sends, before it sends")
    func copiedBeforeItSent() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        try a.replica.startSigning()
        try a.run("UPDATE note SET text = 'not sent' WHERE id = 1")
        _ = try a.replica.vector
        try a.run("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: a.path, toPath: folder.file("copy.db"))
        let copy = try TestStore(
            folder.file("copy.db"), try StoreReplica(folder.file("copy.db")))
        try a.run("INSERT INTO note VALUES (3, 'three')")
        for batch in try a.replica.batches(since: try copy.replica.vector) {
            #expect(try copy.replica.merge(batch))
        }
        #expect(try copy.replica.replicaID != a.replica.replicaID)
        #expect(try copy.rows(Self.all) == a.rows(Self.all))
        #expect(try copy.rows(Self.all).count == 3)
    }

    @Test("what a replica sent before it signed may arrive later, but for what it says is gone")
    func unsignedArrivesLate() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        let path = folder.file("c.db")
        let c = try TestStore(
            path, try StoreReplica.clone(at: path, from: a.replica.batches(since: VersionVector())))
        let late = try #require(try c.replica.batches(since: VersionVector()).first)
        for store in [a, c] { try store.replica.startSigning() }
        try c.run("INSERT INTO note VALUES (3, 'three')")
        for batch in try c.replica.batches(since: try a.replica.vector) {
            #expect(try a.replica.merge(batch))
        }
        #expect(try a.replica.merge(late))
        var forged = try BatchDecoder.decode(late)
        forged.facts = []
        forged.collected = forged.upTo
        forged.hasGaps = true
        forged.sums = nil
        let bytes = try BatchEncoder.encode(forged)
        let error = #expect(throws: SyncError.self) { try a.replica.merge(bytes) }
        #expect(error?.code == .notSigned)
        #expect(try a.rows(Self.all) == c.rows(Self.all))
    }

    @Test("in a store that began signed, nobody sends unsigned batches in a signer's name")
    func unsignedWhereAllSign() throws {
        let a = try TestStore(folder.file("a.db"), schema: Self.schema)
        try a.replica.startSigning()
        let path = folder.file("c.db")
        let c = try TestStore(
            path, try StoreReplica.clone(at: path, from: a.replica.batches(since: VersionVector())))
        let signed = try #require(try c.replica.batches(since: VersionVector()).first)
        #expect(try a.replica.merge(signed))
        var forged = try BatchDecoder.decode(signed)
        forged.proofs = [:]
        forged.decisions = []
        forged.replicaNames = [:]
        forged.sums = nil
        #expect(forged.upTo[c.replica.replicaID] == 0)
        let bytes = try BatchEncoder.encode(forged)
        let error = #expect(throws: SyncError.self) { try a.replica.merge(bytes) }
        #expect(error?.code == .notSigned)
    }

    @Test("where membership is closed, an unsigned batch brings no replica that nobody admitted")
    func unsignedStranger() async throws {
        let (a, b, remote) = try await pair(isSigning: false)
        // As before a signed, and so in its name still.
        let bytes = try await forged(.random(), 1, from: a, signedBy: nil)
        for file in [a, b] { try await file.withReplica { _ = try $0.startSigning() } }
        for file in [a, b, a] { try await file.sync(remote) }
        try await a.withReplica { try $0.setMembership(isClosed: true) }
        for file in [a, b] { try await file.sync(remote) }
        #expect(try await error(of: b, merging: bytes) == .notSigned)
        #expect(!(try b.strings(Self.all)).contains("FORGED"))
    }

    @Test("proofs reach over batches that end between two anchors, at every place")
    func forwarded() async throws {
        let (a, b, _) = try await pair()
        for number in 0..<6 {
            try a.run("INSERT INTO note(text) VALUES ('row \(number)')")
            _ = try await a.withReplica { try $0.vector }
        }
        for bytes in try await a.withReplica({ try $0.batches(since: VersionVector()) }) {
            #expect(try await error(of: b, merging: bytes) == nil)
        }
        // From b, which has one anchor of a, in batches of one fact: each is proved, and so is what
        // c forwards after any number of them.
        let pieces = try await b.withReplica { try $0.batches(since: VersionVector(), factsMax: 1) }
        #expect(pieces.count > 6)
        for count in 1...pieces.count {
            let c = try StoreReplica.clone(
                at: folder.file("c\(count).db"), from: Array(pieces.prefix(count)))
            let d = try StoreReplica.clone(
                at: folder.file("d\(count).db"), from: try c.export())
            #expect(try d.vector == c.vector)
            let known = try d.members().map(\.replica)
            #expect(known.contains(try await a.withReplica { $0.replicaID }))
            try c.close()
            try d.close()
        }
    }

    @Test("a signature takes a small part of a push")
    func cost() throws {
        let key = SigningKey.make()
        let bytes = Array(repeating: UInt8(7), count: 300)
        let start = ContinuousClock.now
        for _ in 0..<50 {
            let signature = try key.signature(of: bytes, for: .batch)
            #expect(key.verifying.isValid(signature, of: bytes, for: .batch))
        }
        let each = (ContinuousClock.now - start) / 50
        #expect(each < .milliseconds(20), "\(each) to sign and verify")
        print("sign and verify: \(each)")
    }
}

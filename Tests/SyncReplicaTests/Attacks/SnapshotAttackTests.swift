import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// The word of one member removes nothing that another one wrote: snapshots that leave out what is
/// there, signed with a key of the attacker's own.
@Suite("Attacks: snapshots with gaps", .timeLimit(.minutes(10)))
struct SnapshotAttackTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let schema = """
        CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
        INSERT INTO note VALUES (1, 'one'), (2, 'two')
        """
    private static let all = "SELECT text FROM note ORDER BY text"

    private func group(
        of count: Int, isSigning: Bool = true
    ) async throws -> (files: [RestoredFile], remote: MemoryRemote) {
        let a = try RestoredFile(folder.file("0.db"), schema: Self.schema, isSigning: isSigning)
        let remote = MemoryRemote(store: try await a.withReplica { $0.storeID })
        try await a.sync(remote)
        var files = [a]
        for number in 1..<count {
            let file = try await RestoredFile(folder.file("\(number).db"), from: remote)
            try file.run("INSERT INTO note(text) VALUES ('of \(number)')")
            try await file.sync(remote)
            files.append(file)
        }
        for file in files { try await file.sync(remote) }
        return (files, remote)
    }

    /// Exchanges until nothing is sent any more.
    private func settle(_ files: [RestoredFile], _ remote: MemoryRemote) async throws {
        for _ in 0..<5 {
            var bytes = 0
            for file in files { bytes += try await file.sync(remote).bytes }
            if bytes == 0 { return }
        }
    }

    @Test("an empty snapshot that an attacker has signed empties nothing")
    func emptySnapshot() async throws {
        let (files, remote) = try await group(of: 2)
        let rows = try files[0].rows(Self.all)
        try await remote.append(try await Attacker().emptySnapshot(of: files[0]))
        for file in files {
            try await file.sync(remote)
            #expect(try file.rows(Self.all) == rows)
        }
        try files[0].run("INSERT INTO note(text) VALUES ('later')")
        try await settle(files, remote)
        for file in files {
            #expect(try file.rows(Self.all) == files[0].rows(Self.all))
            #expect(try file.rows(Self.all).count == rows.count + 1)
            let left = try await file.withReplica { try $0.doubtful }
            #expect(left.count == 0, "\(left)")
            #expect(try await file.withReplica { try $0.behind.isEmpty })
        }
    }

    @Test(
        "a replica that was away keeps what an attacker leaves out")
    func awayAndLiedTo() async throws {
        let (files, remote) = try await group(of: 3)
        let (a, b) = (files[0], files[1])
        let others = Set(
            [
                try await a.withReplica { $0.replicaID },
                try await files[2].withReplica { $0.replicaID },
            ])
        let rows = try b.rows(Self.all)
        let bytes = try await Attacker().emptySnapshot(of: a)
        #expect(try await b.withReplica { try $0.merge(bytes) })
        #expect(try b.rows(Self.all) == rows)
        let doubtful = try await b.withReplica { try $0.doubtful }
        #expect(doubtful.count == rows.count && doubtful.awaited == others)
        #expect(doubtful.problem?.contains("are missing in the snapshot") == true)
        let findings = try await b.withReplica { _ in try Store.open(b.path).exchangeFindings() }
        #expect(findings.contains { $0.contains("leaves out") }, "\(findings)")
        try await settle(files, remote)
        #expect(try b.rows(Self.all) == rows)
    }

    /// Three replicas: the others delete and collect; b is away, has written meanwhile, and then
    /// merges the snapshot of a.
    private func away() async throws -> (files: [RestoredFile], remote: MemoryRemote) {
        let (files, remote) = try await group(of: 3)
        let (a, b, c) = (files[0], files[1], files[2])
        try b.run("INSERT INTO note(text) VALUES ('of b, away')")
        _ = try await b.withReplica { try $0.vector }
        try a.run("DELETE FROM note WHERE id = 1")
        for _ in 0..<2 {
            for file in [a, c] {
                try await file.sync(remote)
                _ = try await file.withReplica { try $0.collect(lease: .seconds(-1)) }
            }
        }
        let snapshot = try await a.withReplica { try $0.batches(since: VersionVector()) }
        #expect(try BatchEnvelope.read(snapshot[0]).envelope.hasGaps)
        #expect(try await b.withReplica { try $0.merge(snapshot[0]) })
        #expect(try b.strings(Self.all).contains("one"), "c has not said so")
        return (files, remote)
    }

    @Test("what all members have dropped goes at a replica that was away, when all have said so")
    func confirmed() async throws {
        let (files, remote) = try await away()
        let (a, b, c) = (files[0], files[1], files[2])
        let confirmation = try await c.withReplica { try $0.batches(since: VersionVector()) }
        #expect(try await b.withReplica { try $0.merge(confirmation[0]) })
        #expect(!(try b.strings(Self.all).contains("one")))
        #expect(try await b.withReplica { try $0.behind.isEmpty })
        try await settle(files, remote)
        for file in files { #expect(try file.rows(Self.all) == b.rows(Self.all)) }
        #expect(try a.strings(Self.all).contains("of b, away"))
    }

    @Test("a member that was removed is not waited for")
    func removed() async throws {
        let (files, remote) = try await away()
        let (a, b) = (files[0], files[1])
        let gone = try await files[2].withReplica { $0.replicaID }
        for _ in 0..<2 { for file in [b, a] { try await file.sync(remote) } }
        #expect(try await b.withReplica { try $0.doubtful.awaited } == [gone])
        try await b.withReplica { try $0.setMember(gone, isRemoved: true) }
        try await settle([b, a], remote)
        #expect(!(try b.strings(Self.all).contains("one")))
        #expect(try await b.withReplica { try $0.doubtful.count } == 0)
        #expect(try a.rows(Self.all) == b.rows(Self.all))
    }

    @Test("who removes the other members is still not believed alone")
    func removesTheOthers() async throws {
        let (files, _) = try await group(of: 3)
        let b = files[1]
        let rows = try b.rows(Self.all)
        let attacker = Attacker()
        let store = try await b.withReplica { $0.storeID }
        var decisions: [MemberDecision] = []
        for file in [files[0], files[2]] {
            decisions.append(
                try MemberDecision(
                    about: try await file.withReplica { $0.replicaID }, .removed, revision: 1,
                    by: attacker.replica, store: store, with: attacker.key))
        }
        decisions.sort { $0.subject < $1.subject }
        let snapshot = try await attacker.emptySnapshot(of: files[0])
        var batch = try BatchDecoder.decode(snapshot)
        batch.decisions = decisions
        let bytes = try BatchEncoder.encode(batch, signing: attacker.key)
        for _ in 0..<2 { #expect(try await b.withReplica { try $0.merge(bytes) }) }
        let members = try await b.withReplica { try $0.members() }
        #expect(members.filter(\.isRemoved).count == 2)
        #expect(try b.rows(Self.all) == rows)
        #expect(try await b.withReplica { try $0.doubtful.awaited.count } == 2)
    }

    @Test("of two that were away, each keeps what the other one has, and all get it back")
    func bothAway() async throws {
        let (files, remote) = try await group(of: 3)
        let rows = try files[1].rows(Self.all)
        let bytes = try await Attacker().emptySnapshot(of: files[0])
        for file in files { #expect(try await file.withReplica { try $0.merge(bytes) }) }
        try await settle(files, remote)
        for file in files {
            #expect(try file.rows(Self.all) == rows)
            #expect(try await file.withReplica { try $0.doubtful.count } == 0)
            #expect(try await file.withReplica { try $0.conflicts().isEmpty })
        }
    }

    @Test("in a store that does not sign, an empty snapshot removes nothing either")
    func unsigned() async throws {
        let (files, remote) = try await group(of: 3, isSigning: false)
        let rows = try files[0].rows(Self.all)
        let attacker = Attacker()
        var batch = try BatchDecoder.decode(try await attacker.emptySnapshot(of: files[0]))
        batch.proofs = [:]
        try await remote.append(try BatchEncoder.encode(batch))
        try await settle(files, remote)
        for file in files { #expect(try file.rows(Self.all) == rows) }
    }
}

import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Who is removed is refused by all, what was merged of it stays with all, and closed membership
/// waits for an admission.
@Suite("Membership", .timeLimit(.minutes(10)))
struct MembershipTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let all = "SELECT text FROM note ORDER BY text"

    private func group(
        of count: Int
    ) async throws -> (files: [RestoredFile], remote: MemoryRemote) {
        let a = try RestoredFile(
            folder.file("0.db"),
            schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)", isSigning: true)
        try a.run("INSERT INTO note(text) VALUES ('of 0')")
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

    private func reasons(_ file: RestoredFile, _ remote: MemoryRemote) async throws -> String {
        try await file.sync(remote).problems.map(\.reason).joined(separator: "\n")
    }

    @Test("a removal travels: others refuse what the replica sends, and all end with the same rows")
    func removalTravels() async throws {
        let (files, remote) = try await group(of: 4)
        let (a, b, c, d) = (files[0], files[1], files[2], files[3])
        let removed = try await b.withReplica { $0.replicaID }
        // Of these a and d have merged the first one when b is removed; nobody the second one.
        try b.run("INSERT INTO note(text) VALUES ('heard')")
        try await b.sync(remote)
        try await d.sync(remote)
        try await a.withReplica { try $0.setMember(removed, isRemoved: true) }
        try await a.sync(remote)
        try b.run("INSERT INTO note(text) VALUES ('too late')")
        await #expect(throws: SyncError(.notMember, "")) { try await b.sync(remote) }
        // A replica that ignores its removal sends all the same.
        for bytes in try await b.withReplica({ try $0.batches(since: VersionVector()) }) {
            try await remote.append(bytes)
        }
        for _ in 0..<2 {
            for file in [c, d, a] {
                let told = try await reasons(file, remote)
                #expect(told.contains("\(removed)") || told.isEmpty)
            }
        }
        for file in [a, c, d] {
            #expect(try file.strings(Self.all) == ["heard", "of 0", "of 1", "of 2", "of 3"])
            let members = try await file.withReplica { try $0.members() }
            #expect(members.filter(\.isRemoved).map(\.replica) == [removed])
        }
        #expect(try await reasons(c, remote).contains("was removed from the members"))
        // Another member may admit it again.
        try await d.withReplica { try $0.setMember(removed, isRemoved: false) }
        try await d.sync(remote)
        try await b.sync(remote)
        for file in [a, c, d] {
            try await file.sync(remote)
            #expect(try file.strings(Self.all).contains("too late"))
            #expect(try file.rows(Self.all) == b.rows(Self.all))
        }
    }

    @Test("a removed replica is not waited for when others collect")
    func notWaitedFor() async throws {
        let (files, remote) = try await group(of: 2)
        let b = try await files[1].withReplica { $0.replicaID }
        #expect(try await files[0].withReplica { try $0.peers.keys.contains(b) })
        try await files[0].withReplica { try $0.setMember(b, isRemoved: true) }
        #expect(try await files[0].withReplica { try $0.peers.isEmpty })
        // So is one that somebody invented by a note alone.
        let invented = ReplicaID.random()
        try await files[0].withReplica { replica in
            try replica.noteAcknowledged([invented: VersionVector()])
            #expect(try replica.peers.keys.contains(invented))
            try replica.setMember(invented, isRemoved: true)
            #expect(try replica.peers.isEmpty)
        }
        try await files[0].sync(remote)
    }

    @Test("where membership is closed, a new replica waits until a member admits it")
    func closed() async throws {
        let (files, remote) = try await group(of: 2)
        try await files[0].withReplica { try $0.setMembership(isClosed: true) }
        for file in files { try await file.sync(remote) }
        let new = try await RestoredFile(folder.file("new.db"), from: remote)
        let replica = try await new.withReplica { $0.replicaID }
        try new.run("INSERT INTO note(text) VALUES ('of the new one')")
        try await new.sync(remote)
        let excluded = try await new.withReplica { try $0.exclusion }
        #expect(excluded?.code == .notMember && excluded?.hint?.contains("\(replica)") == true)
        #expect(try StoreReplica.exclusion(new.path)?.reason == excluded?.reason)
        for file in files { #expect(try StoreReplica.exclusion(file.path) == nil) }
        for file in files {
            let told = try await reasons(file, remote)
            #expect(told.contains("waits to be admitted") && told.contains("--admit \(replica)"))
            #expect(try file.strings(Self.all) == ["of 0", "of 1"])
        }
        // The members go on meanwhile, and their own batches are merged.
        try files[0].run("INSERT INTO note(text) VALUES ('meanwhile')")
        for file in files { try await file.sync(remote) }
        #expect(try files[1].strings(Self.all) == ["meanwhile", "of 0", "of 1"])
        try await files[1].withReplica { try $0.setMember(replica, isRemoved: false) }
        for _ in 0..<2 { for file in files + [new] { try await file.sync(remote) } }
        for file in files {
            #expect(try file.rows(Self.all) == new.rows(Self.all))
            #expect(try file.strings(Self.all).contains("of the new one"))
        }
        #expect(try StoreReplica.exclusion(new.path) == nil)
    }

    @Test("decisions that a member did not sign, or that an unknown one signed, decide nothing")
    func forgedDecisions() async throws {
        let (files, remote) = try await group(of: 2)
        let (a, b) = (
            try await files[0].withReplica { $0.replicaID },
            try await files[1].withReplica { $0.replicaID }
        )
        let attacker = Attacker()
        let store = try await files[0].withReplica { $0.storeID }
        let forged = try MemberDecision(
            about: b, .removed, revision: 1, by: a, store: store, with: attacker.key)
        let huge = try MemberDecision(
            about: b, .removed, revision: .max, by: attacker.replica, store: store,
            with: attacker.key)
        for decision in [forged, huge] {
            #expect(decision.isValid(in: store) == (decision == forged))
            let bytes = try await attacker.batch(of: files[0]) { batch in
                batch.decisions = [decision]
                batch.from = batch.upTo
                batch.transactions = [attacker.transaction(seen: batch.upTo)]
                batch.upTo.advance(to: Dot(attacker.replica, 1))
                batch.facts = []
                batch.extras.numbers = [:]
            }
            try await remote.append(bytes)
        }
        for file in files { try await file.sync(remote) }
        for file in files {
            let members = try await file.withReplica { try $0.members() }
            #expect(members.allSatisfy { !$0.isRemoved })
        }
    }

    @Test("of the same decisions the same one is in force, in whatever order they arrive")
    func order() throws {
        let store = StoreID.random()
        let (first, second) = (SigningKey.make(), SigningKey.make())
        let (a, b, subject) = (ReplicaID.random(), ReplicaID.random(), ReplicaID.random())
        let decisions = [
            try MemberDecision(
                about: subject, .removed, revision: 1, by: a, store: store, with: first),
            try MemberDecision(
                about: subject, .admitted, revision: 1, by: b, store: store, with: second),
            try MemberDecision(
                about: subject, .removed, revision: 1, by: b, store: store, with: second),
        ]
        func winner(_ order: [Int]) -> MemberDecision? {
            order.map { decisions[$0] }.reduce(nil) { known, next in
                known.map { next.supersedes($0) ? next : $0 } ?? next
            }
        }
        let all = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].compactMap(
            winner)
        #expect(Set(all).count == 1 && all[0].kind == .removed)
    }
}

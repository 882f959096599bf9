import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica

/// Replicas have names, which travel with their signatures.
@Suite("Names of replicas")
struct ReplicaNameTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func signedPair() throws -> (TestStore, TestStore) {
        let a = try TestStore(
            folder.file("a.db"),
            schema: "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('x', '1')")
        try a.replica.startSigning()
        let snapshot = try a.replica.batches(since: VersionVector())
        let b = try TestStore(
            folder.file("b.db"), StoreReplica.create(at: folder.file("b.db"), from: snapshot[0]))
        return (a, b)
    }

    @Test("a clone on one machine is told apart by the name of its file")
    func namesOfClones() throws {
        let (a, b) = try signedPair()
        let host = try #require(try a.replica.replicaNames()[a.replica.replicaID])
        let names = try b.replica.replicaNames()
        #expect(names[a.replica.replicaID] == host)
        #expect(names[b.replica.replicaID] == "\(host):b.db")
        try b.run("UPDATE t SET v = '2'")
        try TestStore.sync(a, b)
        #expect(try a.replica.replicaNames() == names)
    }

    @Test("a new name reaches the others with the next exchange, and they forward it")
    func renaming() throws {
        let (a, b) = try signedPair()
        let snapshot = try b.replica.batches(since: VersionVector())
        let c = try TestStore(
            folder.file("c.db"), StoreReplica.create(at: folder.file("c.db"), from: snapshot[0]))
        try a.replica.setName("Küche")
        try b.pull(from: a)
        try c.pull(from: b)
        #expect(try c.replica.replicaNames()[a.replica.replicaID] == "Küche")
        #expect(try c.replica.replicaNames().title(of: a.replica.replicaID) == "Küche")
        let unknown = try #require(ReplicaID(String(repeating: "7", count: 32)))
        #expect(try c.replica.replicaNames().title(of: unknown) == "77777777")
    }

    @Test("two replicas with one name are shown with the beginnings of their identifiers")
    func sharedName() throws {
        let (a, b) = try signedPair()
        try a.replica.setName("kiosk")
        try b.replica.setName("Kiosk")
        try TestStore.sync(a, b)
        let names = try a.replica.replicaNames()
        let (first, second) = (a.replica.replicaID, b.replica.replicaID)
        #expect(names.title(of: first) == "kiosk (\(first.description.prefix(8)))")
        #expect(names.title(of: second) == "Kiosk (\(second.description.prefix(8)))")
        #expect(throws: SyncError.self) { try names.replica("kiosk", among: [first, second]) }
        #expect(
            try names.replica(String(second.description.prefix(6)), among: [first, second])
                == second)
    }

    @Test(
        "what a terminal could obey, or looks like an identifier, is no name",
        arguments: [
            "", " x", "x ", "a\u{1b}[31m", "a\nb", "\u{202e}x", "1150bdc2",
            String(repeating: "x", count: 65), "a\u{200b}b",
        ])
    func refusedNames(text: String) throws {
        #expect(ReplicaName(text) == nil)
        let (a, _) = try signedPair()
        let error = #expect(throws: SyncError.self) { try a.replica.setName(text) }
        #expect(error?.code == .invalidArgument)
        #expect(!(error?.reason.unicodeScalars.contains("\u{1b}") ?? true))
    }

    @Test("nobody names another replica: a name without its signature is not adopted")
    func forgedName() throws {
        let (a, b) = try signedPair()
        try b.run("UPDATE t SET v = '2'")
        let bytes = try b.replica.batches(since: a.replica.vector)
        var batch = try BatchDecoder.decode(bytes[0])
        let own = try #require(batch.replicaNames[b.replica.replicaID])
        let name = try #require(ReplicaName("forged"))
        let forged = SignedName(name, revision: .max, signature: own.signature)
        batch.replicaNames = [a.replica.replicaID: forged, b.replica.replicaID: forged]
        let secret = try #require(
            try b.rows("SELECT secret FROM syncd_signer WHERE secret NOT NULL").first?.first)
        guard case .blob(let key) = secret, let signing = SigningKey(bytes: key) else {
            Issue.record("no key")
            return
        }
        #expect(try a.replica.merge(try BatchEncoder.encode(batch, signing: signing)))
        let names = try a.replica.replicaNames().names.values
        #expect(!names.contains("forged"))
        #expect(try a.rows("SELECT v FROM t") == [["2"]])
    }

    @Test("a renewed identity has the name with a number; the former one keeps it")
    func renewedIdentity() throws {
        let (a, b) = try signedPair()
        try a.replica.setName("desk")
        try TestStore.sync(a, b)
        let former = a.replica.replicaID
        let new = try a.replica.renewIdentity()
        let names = try Store.replicaNames(a.path)
        #expect(names[former] == "desk")
        #expect(names[new] == "desk-2")
    }
}

import Foundation
import SyncRemotes
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncReplica
@testable import SyncValues

/// Who is left out of a rotation reaches nobody with the old key.
@Suite("Attacks: left out of a rotation", .timeLimit(.minutes(10)))
struct RotationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let all = "SELECT text FROM note ORDER BY text"

    private func ring(_ file: RestoredFile) throws -> KeyRing {
        let store = try Store.open(file.path)
        defer { try? store.close() }
        return try store.keyRing()
    }

    private func add(_ ring: KeyRing, to file: RestoredFile) throws {
        let store = try Store.open(file.path)
        defer { try? store.close() }
        try store.addKeys(ring)
    }

    @discardableResult
    private func sync(_ file: RestoredFile, _ remote: MemoryRemote) async throws -> ExchangeReport {
        let sealed = EncryptedRemote(remote, ring: try ring(file), isSealing: true)
        return try await file.withReplica { try await Exchange($0, with: sealed).sync() }
    }

    private func pull(_ file: RestoredFile, _ remote: MemoryRemote) async throws -> ExchangeReport {
        let sealed = EncryptedRemote(remote, ring: try ring(file), isSealing: true)
        return try await file.withReplica { try await Exchange($0, with: sealed).pull() }
    }

    /// A store whose replicas share a key and have exchanged everything.
    private func group(
        of count: Int
    ) async throws -> (files: [RestoredFile], remote: MemoryRemote) {
        let a = try RestoredFile(
            folder.file("0.db"),
            schema: "CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT)", isSigning: true)
        try a.run("INSERT INTO note(text) VALUES ('of 0')")
        let store = try Store.open(a.path)
        try store.makeKey()
        try store.close()
        let clear = MemoryRemote(store: try await a.withReplica { $0.storeID })
        try await a.sync(clear)
        var files = [a]
        for number in 1..<count {
            let file = try await RestoredFile(folder.file("\(number).db"), from: clear)
            try add(try ring(a), to: file)
            try file.run("INSERT INTO note(text) VALUES ('of \(number)')")
            files.append(file)
        }
        let remote = MemoryRemote(store: try await a.withReplica { $0.storeID })
        for _ in 0..<2 { for file in files { try await sync(file, remote) } }
        return (files, remote)
    }

    @Test("what is sealed with the old key after a rotation is refused by name, by all")
    func leftOut() async throws {
        let (files, remote) = try await group(of: 4)
        let (a, b, late, out) = (files[0], files[1], files[2], files[3])
        let old = try #require(try ring(out).activeKey)
        let store = try Store.open(a.path)
        try store.makeKey()
        try store.close()
        try a.run("INSERT INTO note(text) VALUES ('after the rotation')")
        try add(try ring(a), to: b)
        for file in [a, b] { try await sync(file, remote) }
        // Who was left out goes on with the old key.
        try out.run("INSERT INTO note(text) VALUES ('of the one left out')")
        let name = try await out.withReplica { $0.replicaID }
        for bytes in try await out.withReplica({ try $0.batches(since: VersionVector()) }) {
            try await remote.append(try BatchSeal.seal(bytes, with: old))
        }
        await #expect(throws: SyncError(.notAllowed, "")) { try await sync(out, remote) }
        let expected = ["after the rotation", "of 0", "of 1", "of 2", "of 3"]
        for file in [a, b] {
            let told = try await sync(file, remote).problems.map(\.reason).joined()
            #expect(told.contains("has replaced") && told.contains("\(name)"), "\(told)")
            #expect(try file.strings(Self.all) == expected)
        }
        // A member that has not imported the new key yet merges nothing before it has.
        #expect(try await pull(late, remote).missingKey == ring(a).active)
        #expect(try late.strings(Self.all) == ["of 0", "of 1", "of 2", "of 3"])
        try add(try ring(a), to: late)
        for _ in 0..<2 { for file in [late, a, b] { try await sync(file, remote) } }
        for file in [a, b, late] { #expect(try file.strings(Self.all) == expected) }
    }

    @Test("what a member sealed with the old key meanwhile is sent again with the new one")
    func meanwhile() async throws {
        let (files, remote) = try await group(of: 2)
        let (a, b) = (files[0], files[1])
        let store = try Store.open(a.path)
        try store.makeKey()
        try store.close()
        try b.run("INSERT INTO note(text) VALUES ('meanwhile')")
        try await sync(b, remote)
        let told = try await sync(a, remote).problems.map(\.reason).joined()
        #expect(told.contains("has replaced"), "\(told)")
        #expect(try a.strings(Self.all) == ["of 0", "of 1"])
        try add(try ring(a), to: b)
        for file in [b, a] { try await sync(file, remote) }
        #expect(try a.strings(Self.all) == ["meanwhile", "of 0", "of 1"])
        #expect(try await sync(a, remote).problems.isEmpty, "what was sent again is not named")
    }

    @Test("a rotation keeps its cut in packets and in the store, and comes after every other key")
    func cuts() async throws {
        let (files, _) = try await group(of: 1)
        let store = try Store.open(files[0].path)
        defer { try? store.close() }
        let first = try #require(try store.keyRing().activeKey)
        let second = try store.makeKey(at: Timestamp(milliseconds: 1))
        #expect(second.created > first.created)
        let ring = try store.keyRing()
        #expect(ring.active == second.id && ring.cuts[second.id]?.isEmpty == false)
        #expect(ring.cuts[first.id] == nil)
        let packet = try KeyPacket.make(ring, store: store.id, passphrase: "words")
        #expect(try KeyPacket.open(packet, with: .passphrase("words")).ring == ring)
    }
}

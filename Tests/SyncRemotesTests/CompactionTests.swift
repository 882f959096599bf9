import Foundation
import SyncRemotes
import SyncTesting
import Testing

@testable import SyncCore
@testable import SyncMerge
@testable import SyncValues

/// Many small pushes do not fill a remote.
@Suite("Compaction", .timeLimit(.minutes(5)))
struct CompactionTests {
    private let store = SimulatedReplica.store

    private func remote(_ folder: TemporaryFolder, _ name: Character) throws -> DirectoryRemote {
        try DirectoryRemote.create(folder.path, store: store)
        return try DirectoryRemote(
            folder.path, store: store, replica: SimulatedReplica.id(name))
    }

    private func write(_ peer: SimulatedPeer, _ number: Int, keys: Int = 50) async throws {
        try await peer.transact(
            "INSERT INTO note VALUES('k\(number % keys)', 't\(number)') "
                + "ON CONFLICT(name) DO UPDATE SET body = excluded.body")
    }

    @Test("a thousand small pushes leave few files, and a new clone is complete")
    func thousandPushes() async throws {
        let folder = try TemporaryFolder()
        let a = try SimulatedPeer("A", schema: .notes)
        let slow = try SimulatedPeer("B", schema: .notes)
        let (ours, theirs) = (try remote(folder, "A"), try remote(folder, "B"))
        var most = 0
        var removed = 0
        for number in 0..<1000 {
            try await write(a, number)
            removed += try await Exchange(a, with: ours).push().compactedCount
            most = max(most, folder.batches().count)
            if number == 300 || number == 303 { _ = try await Exchange(slow, with: theirs).pull() }
        }
        #expect(most <= CompactionPlan.filesMax + 1, "never more than the limit")
        #expect(removed > 900)
        let bytes = try folder.batches().reduce(0) {
            try $0 + Data(contentsOf: URL(filePath: $1)).count
        }
        let snapshot = try await a.batches(since: VersionVector()).reduce(0) { $0 + $1.count }
        #expect(bytes < 6 * snapshot + 65_536, "\(bytes) bytes for a snapshot of \(snapshot)")
        let clone = try SimulatedPeer("C", schema: .notes)
        _ = try await Exchange(clone, with: try remote(folder, "C")).pull()
        _ = try await Exchange(slow, with: theirs).pull()
        let expected = try await a.canonical()
        #expect(try await clone.canonical() == expected)
        #expect(try await slow.canonical() == expected, "a slow one gets everything")
        #expect(await slow.vector == a.vector)
    }

    @Test("two replicas that write in turns keep their own files, and both stay complete")
    func twoWriters() async throws {
        let folder = try TemporaryFolder()
        let peers = [
            try SimulatedPeer("A", schema: .notes), try SimulatedPeer("B", schema: .notes),
        ]
        let remotes = [try remote(folder, "A"), try remote(folder, "B")]
        for number in 0..<300 {
            let place = number % 2
            try await write(peers[place], number)
            _ = try await Exchange(peers[place], with: remotes[place]).sync()
            #expect(folder.batches().count <= 2 * CompactionPlan.filesMax + 2)
        }
        _ = try await Exchange(peers[0], with: remotes[0]).pull()
        let clone = try SimulatedPeer("C", schema: .notes)
        _ = try await Exchange(clone, with: try remote(folder, "C")).pull()
        #expect(try await peers[0].canonical() == peers[1].canonical())
        #expect(try await clone.canonical() == peers[1].canonical())
    }

    @Test("a compaction that is interrupted anywhere loses nothing", arguments: 0..<40)
    func interrupted(at call: Int) async throws {
        let folder = try TemporaryFolder()
        let a = try SimulatedPeer("A", schema: .notes)
        let ours = try remote(folder, "A")
        for number in 0..<CompactionPlan.filesMax {
            try await write(a, number)
            _ = try await Exchange(a, with: ours).push()
        }
        try await write(a, 1000)
        let dying = DyingRemote(ours, after: call)
        _ = try? await Exchange(a, with: dying).push()
        for _ in 0..<2 {
            let clone = try SimulatedPeer("C", schema: .notes)
            _ = try await Exchange(clone, with: try remote(folder, "C")).pull()
            let head = await clone.vector
            #expect(head[a.id] >= 64, "what was pushed before is there at every moment")
            _ = try await Exchange(a, with: ours).push()
            #expect(try await ours.head() == a.vector)
        }
        #expect(folder.batches().count <= CompactionPlan.filesMax)
    }

    @Test("files that disappear between two catalogs are not an error")
    func vanishingFiles() async throws {
        let folder = try TemporaryFolder()
        let a = try SimulatedPeer("A", schema: .notes)
        let ours = try remote(folder, "A")
        for number in 0..<CompactionPlan.filesMax {
            try await write(a, number)
            _ = try await Exchange(a, with: ours).push()
        }
        try await write(a, 1000)
        let b = try SimulatedPeer("B", schema: .notes)
        let theirs = MeddlingRemote(try remote(folder, "B")) {
            _ = try await Exchange(a, with: ours).push()
        }
        let report = try await Exchange(b, with: theirs).pull()
        #expect(report.problems.isEmpty, "\(report.problems)")
        #expect(folder.batches().count < CompactionPlan.filesMax / 2)
        #expect(try await a.canonical() == b.canonical())
    }

    @Test("no batch is removed in favour of a damaged one")
    func damagedKeeper() async throws {
        let folder = try TemporaryFolder()
        let a = try SimulatedPeer("A", schema: .notes)
        let ours = try remote(folder, "A")
        for number in 0..<70 {
            try await write(a, number)
            _ = try await Exchange(a, with: ours).push()
        }
        let large = try #require(
            try folder.batches().max {
                try Data(contentsOf: URL(filePath: $0)).count
                    < Data(contentsOf: URL(filePath: $1)).count
            })
        var bytes = try Data(contentsOf: URL(filePath: large))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(filePath: large))
        for number in 0..<200 {
            try await write(a, number)
            _ = try await Exchange(a, with: ours).push()
        }
        let clone = try SimulatedPeer("C", schema: .notes)
        _ = try await Exchange(clone, with: try remote(folder, "C")).pull()
        #expect(try await clone.canonical() == a.canonical())
    }
}

/// A remote whose process dies after a number of calls that change it.
private actor DyingRemote: ForwardingRemote {
    private let remote: DirectoryRemote
    private var left: Int

    init(_ remote: DirectoryRemote, after calls: Int) {
        self.remote = remote
        left = calls
    }

    private func live() throws {
        guard left > 0 else { throw CancellationError() }
        left -= 1
    }

    func inner() -> DirectoryRemote { remote }

    func append(_ batch: [UInt8]) async throws {
        try live()
        try await remote.append(batch)
    }
    func ownBatches(ifMoreThan count: Int) async throws -> [BatchCatalog.Item] {
        try await remote.ownBatches(ifMoreThan: count)
    }
    func remove(_ items: [BatchCatalog.Item]) async throws {
        for item in items {
            try live()
            try await remote.remove([item])
        }
    }
}

/// A remote that another replica changes right after the first catalog.
private actor MeddlingRemote: ForwardingRemote {
    private let remote: DirectoryRemote
    private var meddle: (@Sendable () async throws -> Void)?

    init(_ remote: DirectoryRemote, _ meddle: @escaping @Sendable () async throws -> Void) {
        self.remote = remote
        self.meddle = meddle
    }

    func catalog(since: VersionVector) async throws -> BatchCatalog {
        let catalog = try await remote.catalog(since: since)
        if let meddle {
            self.meddle = nil
            try await meddle()
        }
        return catalog
    }

    func inner() -> DirectoryRemote { remote }
}

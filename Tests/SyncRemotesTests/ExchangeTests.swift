import SyncMerge
import SyncTesting
import Testing

/// Push and pull against a remote that fails.
@Suite("Exchange")
struct ExchangeTests {
    @Test("the remote in memory conforms to the protocol of remotes")
    func memoryRemoteConforms() async throws {
        try await RemoteConformance { MemoryRemote(store: SimulatedReplica.store) }.run()
    }

    @Test("two replicas synchronise through a remote")
    func pushAndPull() async throws {
        let remote = MemoryRemote(store: SimulatedReplica.store)
        let a = try SimulatedPeer("A", schema: .notes)
        let b = try SimulatedPeer("B", schema: .notes)
        try await a.transact("INSERT INTO note VALUES('x', 'from a')")
        try await b.transact("INSERT INTO note VALUES('y', 'from b')")
        let pushed = try await Exchange(a, with: remote).push()
        #expect(pushed.pushedCount == 1 && pushed.bytes > 0)
        let synced = try await Exchange(b, with: remote).sync()
        #expect(synced.pulledCount == 1 && synced.pushedCount == 1)
        #expect(try await Exchange(a, with: remote).pull().pulledCount == 1)
        #expect(try await a.canonical() == b.canonical())
        let again = try await Exchange(a, with: remote).sync()
        #expect(again.bytes == 0 && again.problems.isEmpty, "nothing is left to move")
        #expect(again.pulledCount == 0 && again.pushedCount == 0)
    }

    @Test(
        "an exchange that is interrupted anywhere loses nothing, and the next one continues",
        arguments: 0..<14, [MemoryRemote.Fault.before, .after])
    func interruption(at call: Int, fault: MemoryRemote.Fault) async throws {
        let remote = MemoryRemote(store: SimulatedReplica.store)
        let a = try SimulatedPeer("A", schema: .notes, slice: 1)
        let b = try SimulatedPeer("B", schema: .notes)
        for number in 0..<3 {
            try await a.transact("INSERT INTO note VALUES('k\(number)', 'text')")
        }
        try await withFault(remote, at: call, fault) { try await Exchange(a, with: remote).push() }
        _ = try await Exchange(a, with: remote).push()
        try await withFault(remote, at: call, fault) { try await Exchange(b, with: remote).pull() }
        _ = try await Exchange(b, with: remote).pull()
        #expect(try await a.canonical() == b.canonical())
        #expect(try await b.query("SELECT count(*) FROM note") == [[3]])
    }

    /// Runs with one failing call; only `unreachable` may come of it.
    private func withFault(
        _ remote: MemoryRemote, at call: Int, _ fault: MemoryRemote.Fault,
        _ work: () async throws -> some Any
    ) async throws {
        await remote.failCall(call, with: fault)
        do {
            _ = try await work()
        } catch let error as SyncError {
            #expect(error.code == .unreachable)
        }
        await remote.failNoMore()
    }

    @Test("a batch that the remote lost is sent again by any replica that has it")
    func lostBatch() async throws {
        let remote = MemoryRemote(store: SimulatedReplica.store)
        let a = try SimulatedPeer("A", schema: .notes, slice: 1)
        let b = try SimulatedPeer("B", schema: .notes)
        for number in 0..<3 {
            try await a.transact("INSERT INTO note VALUES('k\(number)', 'text')")
        }
        _ = try await Exchange(a, with: remote).push()
        _ = try await Exchange(b, with: remote).pull()
        let items = try await remote.catalog(since: VersionVector()).items
        await remote.lose(items[0].name)
        #expect(try await remote.head().isEmpty)
        _ = try await Exchange(b, with: remote).push()
        let c = try SimulatedPeer("C", schema: .notes)
        _ = try await Exchange(c, with: remote).pull()
        #expect(try await c.canonical() == a.canonical(), "a new clone is complete")
    }

    @Test("a damaged batch is reported and skipped")
    func damagedBatch() async throws {
        let remote = MemoryRemote(store: SimulatedReplica.store)
        let a = try SimulatedPeer("A", schema: .notes)
        try await a.transact("INSERT INTO note VALUES('x', 'text')")
        _ = try await Exchange(a, with: remote).push()
        let item = try await remote.catalog(since: VersionVector()).items[0]
        var bytes = try await remote.fetch(item)
        bytes[bytes.count - 1] ^= 1
        await remote.damage(item.name, with: bytes)
        let b = try SimulatedPeer("B", schema: .notes)
        let report = try await Exchange(b, with: remote).pull()
        #expect(report.pulledCount == 0 && report.problems.map(\.name) == [item.name])
        #expect(await b.vector.isEmpty)
    }

    @Test("a new replica fetches the snapshot, others the smallest batch that helps")
    func path() async throws {
        let a = try SimulatedPeer("A", schema: .notes, slice: 1)
        for number in 0..<4 {
            try await a.transact("INSERT INTO note VALUES('k\(number)', 'text')")
        }
        let remote = MemoryRemote(store: SimulatedReplica.store)
        for batch in try await a.batches(since: VersionVector()) { try await remote.append(batch) }
        let whole = try SimulatedPeer("B", schema: .notes)
        _ = try await Exchange(whole, with: remote).pull()
        for batch in try await whole.batches(since: VersionVector()) {
            try await remote.append(batch)
        }
        let catalog = try await remote.catalog(since: VersionVector())
        #expect(catalog.path(since: VersionVector()).count == 1)
        let vector = await a.vector
        let behind = VersionVector([Dot(a.id, vector[a.id] - 1)])
        let path = catalog.path(since: behind)
        #expect(path.count == 1 && path[0].envelope.from == behind)
    }
}

import Foundation
import SyncMerge
import SyncRemotes
import SyncTesting
import Testing

/// Batches that only replicas with the key can read.
@Suite("Remote: encrypted", .timeLimit(.minutes(3)))
struct EncryptionTests {
    private let store = SimulatedReplica.store
    private let key = StoreKey.make(at: Timestamp(milliseconds: 1))
    private let other = StoreKey.make(at: Timestamp(milliseconds: 2))

    private func ring(_ keys: StoreKey...) -> KeyRing { KeyRing(keys, active: keys.first?.id) }

    private func peer(_ name: Character, notes: Int) async throws -> SimulatedPeer {
        let peer = try SimulatedPeer(name, schema: .notes, slice: 1)
        for number in 0..<notes {
            try await peer.transact("INSERT INTO note VALUES('\(name)\(number)', 'secret words')")
        }
        return peer
    }

    @Test("an encrypted remote conforms to the protocol of remotes")
    func conforms() async throws {
        let ring = ring(key)
        try await RemoteConformance { [store] in
            EncryptedRemote(MemoryRemote(store: store), ring: ring, isSealing: true)
        }.run()
    }

    @Test("a carrier sees the vectors and sizes of a batch, but not its content")
    func carriersSeeNothing() async throws {
        let a = try await peer("A", notes: 1)
        let batch = try await a.batches(since: VersionVector())[0]
        let sealed = try BatchSeal.seal(batch, with: key)
        let (plain, hidden) = (
            try BatchEnvelope.read(batch).envelope, try BatchEnvelope.read(sealed).envelope
        )
        #expect(hidden.upTo == plain.upTo && hidden.store == plain.store)
        #expect(hidden.key == key.id)
        #expect(throws: SyncError(.notAllowed, "")) { try BatchDecoder.decode(sealed) }
        #expect(try BatchDecoder.verify(sealed) == hidden)
        #expect(try BatchSeal.seal(batch, with: key) == sealed, "the same batch, the same bytes")
        #expect(try BatchSeal.open(sealed, with: ring(key)) == batch)
        #expect(String(decoding: sealed, as: UTF8.self).contains("secret") == false)
    }

    @Test("every changed bit of a sealed batch and its envelope is detected")
    func tampering() async throws {
        let a = try await peer("A", notes: 1)
        let batch = try await a.batches(since: VersionVector())[0]
        let sealed = try BatchSeal.seal(batch, with: key)
        let seed = TestSeed.fixed(4711)
        var random = seed.random
        for _ in 0..<400 {
            var bytes = sealed
            bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
            #expect(throws: SyncError.self, "\(seed)") {
                try BatchSeal.open(bytes, with: ring(key))
            }
        }
        for count in 0..<sealed.count where count % 7 == 0 {
            #expect(throws: SyncError.self) {
                try BatchSeal.open(Array(sealed.prefix(count)), with: ring(key))
            }
        }
    }

    @Test("a forged envelope around a sealed payload is refused")
    func forgedEnvelope() async throws {
        let a = try await peer("A", notes: 2)
        let batches = try await a.batches(since: VersionVector())
        let first = try BatchSeal.seal(batches[0], with: key)
        let second = try BatchSeal.seal(batches[1], with: key)
        let (one, start) = try BatchEnvelope.read(first)
        let (_, end) = try BatchEnvelope.read(second)
        // The payload of the second batch under the vectors of the first, all hashes right.
        let forged = one.carrying(Array(second[end...]))
        #expect(try BatchDecoder.verify(forged).upTo == one.upTo)
        #expect(throws: SyncError(.badData, "")) { try BatchSeal.open(forged, with: ring(key)) }
        #expect(first.count > start)
    }

    @Test("a missing key is an error that names it, nothing is lost, and a sync with it completes")
    func wrongKey() async throws {
        let remote = MemoryRemote(store: store)
        let a = try await peer("A", notes: 3)
        let b = try await peer("B", notes: 2)
        let right = EncryptedRemote(remote, ring: ring(key), isSealing: true)
        let wrong = EncryptedRemote(remote, ring: ring(other), isSealing: true)
        _ = try await Exchange(a, with: right).push()

        let report = try await Exchange(b, with: wrong).pull()
        #expect(report.pulledCount == 0 && report.missingKey == key.id)
        await #expect(throws: SyncError(.notAllowed, "")) {
            try await Exchange(b, with: wrong).push()
        }
        #expect(try await b.query("SELECT count(*) FROM note") == [[2]])

        var healed = ring(other)
        healed.merge(ring(key))
        let again = EncryptedRemote(remote, ring: healed, isSealing: true)
        _ = try await Exchange(b, with: again).sync()
        _ = try await Exchange(
            a, with: EncryptedRemote(remote, ring: healed, isSealing: true)
        ).sync()
        #expect(try await a.canonical() == b.canonical())
        #expect(try await a.query("SELECT count(*) FROM note") == [[5]])
    }

    @Test("after a rotation old batches stay readable, and new ones need the new key")
    func rotation() async throws {
        let remote = MemoryRemote(store: store)
        let a = try await peer("A", notes: 2)
        _ = try await Exchange(
            a, with: EncryptedRemote(remote, ring: ring(key), isSealing: true)
        ).push()
        var rotated = ring(key)
        rotated.add(other, activating: true)
        try await a.transact("INSERT INTO note VALUES('new', 'text')")
        _ = try await Exchange(a, with: EncryptedRemote(remote, ring: rotated, isSealing: true))
            .push()
        let keys = try await remote.catalog(since: VersionVector()).items.map(\.envelope.key)
        #expect(Set(keys) == [key.id, other.id])

        let late = try SimulatedPeer("B", schema: .notes)
        let old = EncryptedRemote(remote, ring: ring(key), isSealing: true)
        let report = try await Exchange(late, with: old).pull()
        #expect(report.pulledCount == 2 && report.missingKey == other.id)
        let new = EncryptedRemote(remote, ring: rotated, isSealing: true)
        #expect(try await Exchange(late, with: new).pull().pulledCount == 1)
        #expect(try await late.canonical() == a.canonical())
    }

    @Test("encryption that is enabled later sends everything again, encrypted")
    func turnedOn() async throws {
        let remote = MemoryRemote(store: store)
        let a = try await peer("A", notes: 2)
        _ = try await Exchange(a, with: remote).push()
        let sealing = EncryptedRemote(remote, ring: ring(key), isSealing: true)
        #expect(try await Exchange(a, with: sealing).push().pushedCount == 2)
        let b = try SimulatedPeer("B", schema: .notes)
        let report = try await Exchange(b, with: sealing).pull()
        #expect(report.pulledCount == 2 && report.problems.count == 2)
    }

    @Test("nothing is sent unencrypted to where encrypted batches are")
    func encryptedFolder() async throws {
        let remote = MemoryRemote(store: store)
        let a = try await peer("A", notes: 1)
        _ = try await Exchange(
            a, with: EncryptedRemote(remote, ring: ring(key), isSealing: true)
        ).push()
        let b = try await peer("B", notes: 1)
        // With the key in the store, but not chosen for this remote.
        let clear = EncryptedRemote(remote, ring: ring(key), isSealing: false, remedy: "remedy")
        #expect(try await Exchange(b, with: clear).pull().pulledCount == 1)
        do {
            _ = try await Exchange(b, with: clear).push()
            Issue.record("it was sent")
        } catch let error as SyncError {
            #expect(error.code == .refused)
            #expect(error.reason.contains("nothing is sent"))
            #expect(error.hint == "remedy")
        }
        let keys = try await remote.catalog(since: VersionVector()).items.map(\.envelope.key)
        #expect(keys == [key.id])
    }

    @Test("without a key nothing is sent unencrypted")
    func noKey() async throws {
        let remote = MemoryRemote(store: store)
        let a = try await peer("A", notes: 1)
        await #expect(throws: SyncError(.refused, "")) {
            try await Exchange(
                a, with: EncryptedRemote(remote, ring: KeyRing(), isSealing: true)
            ).push()
        }
        #expect(try await remote.catalog(since: VersionVector()).items.isEmpty)
    }
}

extension BatchEnvelope {
    /// What a hostile carrier can do: another payload, with correct hashes.
    fileprivate func carrying(_ payload: [UInt8]) -> [UInt8] {
        BatchEnvelope(self, payload: payload, key: key).encoded() + payload
    }
}

import Foundation
import SyncTesting
import Testing

@testable import SyncMerge
@testable import SyncValues

@Suite("Signed batches")
struct SignedBatchTests {
    private func code(_ bytes: [UInt8]) -> SyncError.Code? {
        do {
            _ = try BatchDecoder.decode(bytes)
            return nil
        } catch {
            return (error as? SyncError)?.code ?? .internalFault
        }
    }

    private func encoded() throws -> [UInt8] {
        try BatchEncoder.encode(try Samples.signed(), signing: Samples.key)
    }

    private var store: StoreKey {
        get throws {
            try #require(
                StoreKey(
                    bytes: Array(repeating: 3, count: 32), created: Timestamp(milliseconds: 0)))
        }
    }

    @Test("what was encoded is decoded, with goal, sums and proofs")
    func roundTrip() throws {
        let bytes = try encoded()
        let decoded = try BatchDecoder.decode(bytes)
        Samples.expectEqual(decoded, try Samples.signed())
        #expect(try BatchEncoder.encode(decoded, signing: Samples.key) == bytes)
        let envelope = try BatchEnvelope.read(bytes).envelope
        #expect(envelope.version == 2 && envelope.goal == decoded.goal)
        #expect(envelope.sums == decoded.sums)
        #expect(envelope.signature?.proof == decoded.proofs[decoded.sender])
    }

    @Test("without a key, or a proof of its sender, a batch is of version 1")
    func unsigned() throws {
        var batch = try Samples.signed()
        #expect(try BatchEncoder.encode(batch) == BatchEncoder.encode(Samples.batch()))
        batch.proofs[batch.sender] = nil
        let bytes = try BatchEncoder.encode(batch, signing: Samples.key)
        #expect(bytes == (try BatchEncoder.encode(Samples.batch())))
    }

    @Test("a signed batch that is cut short, has a tail, or one wrong bit anywhere is refused")
    func damage() throws {
        let bytes = try encoded()
        for count in 0..<bytes.count { #expect(code(Array(bytes[..<count])) == .badData) }
        #expect(code(bytes + [0]) == .badData)
        for place in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[place] ^= 1 << UInt8(bit)
                #expect(code(damaged) != nil, "byte \(place), bit \(bit)")
            }
        }
    }

    @Test("an envelope that was changed behind a right check has a wrong signature")
    func forgedEnvelope() throws {
        let bytes = try encoded()
        let (envelope, start) = try BatchEnvelope.read(bytes)
        // Every byte of the body, with check and payload as a forger would make them.
        let head = 8
        for place in head..<start - BatchEnvelope.checkBytes {
            var forged = Array(bytes[..<(start - BatchEnvelope.checkBytes)])
            forged[place] ^= 1
            forged += SHA256Prefix.of(forged) + bytes[start...]
            #expect(code(forged) != nil, "byte \(place) of \(envelope.sender)")
        }
        #expect(code(Array(bytes)) == nil)
    }

    @Test("another key signs another batch")
    func otherKey() throws {
        let batch = try Samples.signed()
        // The proof names the sender's key; who signs has another one.
        let bytes = try BatchEncoder.encode(batch, signing: .make())
        #expect(throws: SyncError(.badData, "")) { try BatchDecoder.decode(bytes) }
        let envelope = try BatchEnvelope.read(bytes).envelope
        #expect(throws: SyncError(.badData, "")) { try envelope.requireValidSignature() }
    }

    @Test(
        "sealing keeps the signature: everyone who carries the batch can verify it, and who opens it"
    )
    func sealed() throws {
        let bytes = try encoded()
        let sealed = try BatchSeal.seal(bytes, with: try store)
        let hidden = try BatchDecoder.verify(sealed)
        #expect(try hidden.key == store.id && hidden.version == 2)
        #expect(try BatchSeal.seal(bytes, with: try store) == sealed)
        var ring = KeyRing()
        ring.add(try store, activating: true)
        #expect(try BatchSeal.open(sealed, with: ring) == bytes)
        for place in sealed.indices {
            var damaged = sealed
            damaged[place] ^= 4
            #expect(throws: SyncError.self, "byte \(place)") {
                try BatchSeal.open(damaged, with: ring)
            }
        }
        // The same content of two replicas: a reader of the envelopes cannot tell.
        let other = try BatchEncoder.content(of: Samples.signed(), withProofs: true)
        let frame = try Compression.compress(other)
        #expect(hidden.signature?.payloadHash != SHA256Prefix.whole(frame))
    }

    @Test("a chain depends on each of number, time, what was seen, and on the order")
    func chain() throws {
        let batch = try Samples.signed()
        let proof = try #require(batch.forwardedProofs.first)
        let own = batch.transactions.map(\.header).filter { $0.dot.replica == proof.key }
        let whole = own + proof.value.headers
        #expect(proof.value.start.following(whole) == proof.value.anchor.link)
        #expect(
            proof.value.anchor.isSigned(
                store: batch.store, replica: proof.key, by: proof.value.key))
        #expect(
            !proof.value.anchor.isSigned(
                store: batch.store, replica: batch.sender, by: proof.value.key))
        for place in whole.indices {
            let header = whole[place]
            var others = header.seen
            others.advance(to: Dot(batch.sender, 99))
            let changed = [
                TransactionHeader(
                    Dot(header.dot.replica, header.dot.number + 1), time: header.time,
                    seen: header.seen),
                TransactionHeader(header.dot, time: header.time.next, seen: header.seen),
                TransactionHeader(header.dot, time: header.time, seen: others),
            ]
            for replacement in changed where replacement != header {
                var forged = whole
                forged[place] = replacement
                #expect(proof.value.start.following(forged) != proof.value.anchor.link)
            }
            var shorter = whole
            shorter.remove(at: place)
            #expect(proof.value.start.following(shorter) != proof.value.anchor.link)
        }
    }

    @Test("a batch stored by format version 2 is still read, sealed or not")
    func fixtures() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Fixtures")
        let clear = Array(try Data(contentsOf: folder.appending(path: "batch-2.synb")))
        Samples.expectEqual(try BatchDecoder.decode(clear), try Samples.signed())
        let sealed = Array(try Data(contentsOf: folder.appending(path: "batch-2-sealed.synb")))
        var ring = KeyRing()
        ring.add(try store, activating: true)
        #expect(try BatchSeal.open(sealed, with: ring) == clear)
    }
}

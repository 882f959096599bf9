import SyncTesting
import Testing

@testable import SyncMerge
@testable import SyncValues

/// Bytes that are not what they claim to be: an error with a reason, never a crash, never a batch
/// that merging could not trust.
@Suite("Batch: hostile bytes")
struct HostileBatchTests {
    private func code(_ bytes: [UInt8]) -> SyncError.Code? {
        do {
            _ = try BatchDecoder.decode(bytes)
            return nil
        } catch let error as SyncError {
            return error.code
        } catch {
            Issue.record("not a SyncError: \(error)")
            return nil
        }
    }

    @Test("a batch that is cut short anywhere is refused")
    func truncation() throws {
        let bytes = try BatchEncoder.encode(Samples.batch())
        for count in 0..<bytes.count { #expect(code(Array(bytes[..<count])) == .badData) }
        #expect(code(bytes + [0]) == .badData, "and one with a tail")
    }

    @Test("a batch with one wrong bit anywhere is refused")
    func bitRot() throws {
        let bytes = try BatchEncoder.encode(Samples.batch())
        for place in bytes.indices {
            for bit in 0..<8 {
                var damaged = bytes
                damaged[place] ^= 1 << UInt8(bit)
                #expect(code(damaged) != nil, "byte \(place), bit \(bit)")
            }
        }
    }

    @Test("unknown versions and features are named, not guessed")
    func newerFormats() throws {
        var bytes = try BatchEncoder.encode(Samples.batch())
        bytes[4] = 3
        #expect(code(bytes) == .newerFormat)
        bytes[4] = 1
        bytes[5] = 8
        #expect(code(bytes) == .newerFormat, "a feature of version 2 alone")
        for version: UInt8 in [1, 2] {
            bytes[4] = version
            let unknown = Array(bytes[..<5]) + [0x80, 0x80, 0x01] + Array(bytes[6...])
            #expect(code(unknown) == .newerFormat)
        }
    }

    @Test(
        "damaged content behind a right hash is refused, or still a batch that holds its promises")
    func mutatedContent() throws {
        let batch = Samples.batch()
        let content = try BatchEncoder.content(of: batch)
        let envelope = BatchEnvelope(batch, contentBytes: content.count, payload: [])
        let seed = TestSeed.fixed(4711)
        var random = seed.random
        var refused = 0
        for _ in 0..<20_000 {
            var mutated = content
            for _ in 0...random.below(4) { mutate(&mutated, &random) }
            do {
                let decoded = try BatchDecoder.decode(content: mutated, envelope)
                checkPromises(decoded, seed)
            } catch is SyncError {
                refused += 1
            }
        }
        #expect(refused > 10_000, "\(seed)")
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let place = random.below(bytes.count)
        switch random.below(5) {
        case 0: bytes[place] ^= 1 << UInt8(random.below(8))
        case 1: bytes[place] = random.pick([0, 1, 0x7f, 0x80, 0xff])
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(UInt8(random.below(256)), at: place)
        default: bytes.removeSubrange(place..<min(bytes.count, place + random.below(8)))
        }
    }

    private func checkPromises(_ batch: Batch, _ seed: TestSeed) {
        let dots = Set(batch.transactions.map(\.header.dot))
        var merged = batch.from
        for transaction in batch.transactions {
            #expect(merged.covers(transaction.header.seen), "\(seed)")
            merged.advance(to: transaction.header.dot)
        }
        #expect(merged == batch.upTo, "\(seed)")
        for fact in batch.facts {
            #expect(dots.contains(fact.dot), "\(seed)")
            guard case .cell(_, let entity, let cell, let version) = fact else { continue }
            #expect(batch.entities[entity].cells[cell].count == version.value.count, "\(seed)")
        }
    }

    @Test("a batch whose transactions do not follow what they had seen is refused")
    func causalityBroken() throws {
        var batch = Samples.batch()
        batch.transactions.swapAt(0, 1)
        #expect(code(try BatchEncoder.encode(batch)) == .badData)
        batch = Samples.batch()
        batch.transactions.removeFirst()
        batch.facts = []
        #expect(code(try BatchEncoder.encode(batch)) == .badData, "a hole")
        batch = Samples.batch()
        batch.facts.append(
            .life(
                ObjectUID(high: 1, low: 1), entity: 0,
                Life(Dot(batch.sender, 99), kind: .created, incarnation: 1)))
        #expect(code(try BatchEncoder.encode(batch)) == .badData, "a fact of nobody")
    }

    @Test("a frame that unpacks to more than it may is stopped on the way")
    func bomb() throws {
        let batch = Samples.batch()
        let payload = try Compression.compress([UInt8](repeating: 0, count: 64 << 20))
        #expect(payload.count < 100_000)
        let envelope = BatchEnvelope(batch, contentBytes: 1_000, payload: payload)
        #expect(code(envelope.encoded() + payload) == .badData)
    }

    @Test("counts beyond the limits are refused before room is made for them")
    func greedyCounts() throws {
        let batch = Samples.batch()
        for count in [UInt64(1) << 40, .max, 1 << 32] {
            var content = ByteWriter()
            content.append(varint: count)
            let envelope = BatchEnvelope(batch, contentBytes: content.bytes.count, payload: [])
            #expect(throws: SyncError(.badData, "")) {
                try BatchDecoder.decode(content: content.bytes, envelope)
            }
        }
    }
}

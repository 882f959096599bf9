import Foundation
import SyncTesting
import Testing

@testable import SyncMerge

@Suite("Batch")
struct BatchTests {
    @Test("what was encoded is decoded: every kind of value, transaction and fact")
    func roundTrip() throws {
        let batch = Samples.batch()
        let bytes = try BatchEncoder.encode(batch)
        let decoded = try BatchDecoder.decode(bytes)
        Samples.expectEqual(decoded, batch)
        #expect(try BatchEncoder.encode(decoded) == bytes, "one batch has one form")
    }

    @Test("batches of random schedules survive their bytes")
    func roundTripOfRandomBatches() throws {
        for seed in TestSeed.each(of: 0..<60) {
            let batch = try Samples.random(seed: seed.value)
            Samples.expectEqual(try BatchDecoder.decode(try BatchEncoder.encode(batch)), batch)
        }
    }

    @Test("facts in columns are written as the same facts are as objects, whole and in parts")
    func columns() throws {
        for seed in TestSeed.each(of: 0..<60) {
            let bytes = try BatchEncoder.encode(try Samples.random(seed: seed.value))
            let batch = try BatchDecoder.decode(bytes)
            let (half, count) = (batch.transactions.count / 2, batch.transactions.count)
            for range in [0..<count, 0..<half, half..<count] {
                let part = batch.part(range)
                var listed = part
                listed.facts = part.facts
                let (found, expected) = (
                    try BatchEncoder.content(of: part), try BatchEncoder.content(of: listed)
                )
                #expect(found == expected, "\(seed) \(range)")
            }
        }
    }

    @Test("an empty batch is a batch")
    func emptyBatch() throws {
        var batch = Samples.batch()
        batch.transactions = []
        batch.facts = []
        batch.upTo = batch.from
        Samples.expectEqual(try BatchDecoder.decode(try BatchEncoder.encode(batch)), batch)
    }

    @Test("the envelope is read without the payload")
    func envelopeAlone() throws {
        let batch = Samples.batch()
        let bytes = try BatchEncoder.encode(batch)
        let (whole, start) = try BatchEnvelope.read(bytes)
        let (alone, _) = try BatchEnvelope.read(Array(bytes[..<start]))
        #expect(alone == whole)
        #expect(alone.store == batch.store && alone.sender == batch.sender)
        #expect(alone.upTo == batch.upTo && !alone.from.isEmpty)
        #expect(alone.payloadBytes == bytes.count - start)
    }

    @Test("a receiver with another schema merges what it knows and keeps the rest")
    func schemaSkew() throws {
        let batch = Samples.batch()
        let album = MergeEntity(
            name: "ALBUM", columns: [.init("id", isRequired: true), .init("b"), .init("a")],
            key: [0], identity: .privateNumber, uniques: [[1, 2]])
        let (delta, unknown) = batch.resolved(in: MergeSchema([album]))
        #expect(delta.headers == batch.transactions.map(\.header))
        for case .cell(_, let entity, let cell, let version) in delta.facts {
            #expect(entity == 0 && cell == 0)
            #expect(version.value == [.value("title"), .value(nil)], "columns in our order")
        }
        #expect(delta.facts.count + unknown.count == batch.facts.count)
        #expect(!unknown.isEmpty)
        let (all, none) = batch.resolved(in: Samples.schema)
        #expect(none.isEmpty && Set(all.facts) == Set(batch.facts))
    }

    @Test("a hundred thousand rows of 160 bytes take less than 10 MB")
    func sizeOfManyInserts() throws {
        let batch = Samples.inserts(100_000)
        let bytes = try BatchEncoder.encode(batch)
        #expect(bytes.count < 10_000_000, "\(bytes.count) bytes")
        #expect(try BatchDecoder.decode(bytes).facts.count == batch.facts.count)
    }

    @Test("a batch stored by format version 1 is still read")
    func fixture() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Fixtures/batch-1.synb")
        let stored = Array(try Data(contentsOf: file))
        Samples.expectEqual(try BatchDecoder.decode(stored), Samples.batch())
    }
}

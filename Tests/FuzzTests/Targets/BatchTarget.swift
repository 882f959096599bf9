@testable import SyncMerge
@testable import SyncValues

/// Any bytes are a batch, a batch's content, or an error.
///
/// Bytes that begin like a batch go through the whole decoder. All others are a choice and content
/// behind the hashes that a fuzzer cannot guess: of a batch with extras, or of a signed one.
enum BatchTarget {
    @Sendable static func run(_ bytes: [UInt8]) throws {
        try refusing("decode") {
            if bytes.starts(with: BatchEnvelope.magic) {
                try check(BatchDecoder.decode(bytes))
            } else {
                try check(BatchDecoder.decode(content: bytes, envelope))
            }
        }
        guard let first = bytes.first else { return }
        // The same content in a frame with the right sums of everything.
        let content = Array(bytes.dropFirst())
        try refusing("envelope") {
            let payload = try Compression.compress(content)
            var batch = sample
            if first & 1 == 1 { batch.hasGaps = true }
            if first & 2 == 2 { batch.collected = batch.upTo }
            let envelope = BatchEnvelope(batch, contentBytes: content.count, payload: payload)
            try check(BatchDecoder.decode(envelope.encoded() + payload))
        }
    }

    /// What was decoded is encoded, and decoded to the same.
    private static func check(_ batch: Batch) throws {
        guard let bytes = try refusing("encode", { try BatchEncoder.encode(batch) }) else { return }
        let again = try BatchDecoder.decode(bytes)
        try require(
            Set(again.facts) == Set(batch.facts)
                && again.transactions.map(\.header) == batch.transactions.map(\.header)
                && again.extras == batch.extras,
            "what was encoded does not decode the same")
    }

    private static let sample = Batch(
        store: StoreID(high: 1, low: 2), sender: ReplicaID(high: 0x42 << 56, low: 0),
        from: VersionVector(), upTo: VersionVector([Dot(ReplicaID(high: 0x42 << 56, low: 0), 9)]),
        entities: [], transactions: [], facts: [])

    private static let envelope = BatchEnvelope(sample, contentBytes: 0, payload: [])
}

/// What libFuzzer calls: any bytes are a batch, a batch's content, or an error.
///
/// Bytes that begin like a batch go through the whole decoder; all others are taken as content,
/// behind the hashes that a fuzzer cannot guess.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzBatch(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: count))
    do {
        if bytes.starts(with: BatchEnvelope.magic) {
            _ = try BatchDecoder.decode(bytes)
        } else {
            _ = try BatchDecoder.decode(content: bytes, envelope)
        }
    } catch is SyncError {
        return 0
    } catch {
        preconditionFailure("the decoder throws SyncError alone: \(error)")
    }
    return 0
}

private let envelope: BatchEnvelope = {
    let sender = ReplicaID(high: 0x42 << 56, low: 0)
    let store = StoreID(high: 1, low: 2)
    let batch = Batch(
        store: store, sender: sender, from: VersionVector(), upTo: VersionVector(), entities: [],
        transactions: [], facts: [])
    return BatchEnvelope(batch, contentBytes: 0, payload: [])
}()

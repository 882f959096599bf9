import SyncMerge

/// Batches that are made already.
struct ListedBatches: BatchSource {
    private let batches: [[UInt8]]

    init(_ batches: [[UInt8]]) { self.batches = batches }

    var count: Int { batches.count }

    func batch(at place: Int) throws -> [UInt8] { batches[place] }
}

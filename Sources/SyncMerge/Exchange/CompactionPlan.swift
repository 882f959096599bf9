/// Which of a replica's own batches are replaced by a new one.
struct CompactionPlan: Sendable, Hashable {
    /// Compaction starts above this number of batches: each pull and push opens all of them. A
    /// lower limit means more new bytes for the program that synchronizes the folder.
    static let filesMax = 64
    /// How many replaced batches stay until the next run, for receivers that lack only these and
    /// would have to fetch the large one.
    static let spareMax = 24
    /// An older batch is replaced with the newer ones when it is not larger than this multiple of
    /// their sum.
    private static let growth = 2
    /// The newest batches are replaced together, whatever their sizes, while each is below this.
    private static let smallBytes = 262_144
    /// Facts that replicas put into one batch: more facts give more batches.
    private static let factsEach = 100_000

    /// Batches that another one supersedes.
    let superseded: [BatchCatalog.Item]
    /// Batches that stay.
    let kept: [BatchCatalog.Item]
    /// Batches that a new one, starting at ``from``, replaces, oldest first; empty: none.
    let replaced: [BatchCatalog.Item]
    /// Where the new batch has to start.
    let from: VersionVector

    /// Plans the compaction of a replica's own batches.
    /// - Parameter vector: what the replica has merged: a batch that leads further is not changed.
    /// - Complexity: O(n²) in the batches.
    init(_ own: [BatchCatalog.Item], upTo vector: VersionVector) {
        var whole = own.filter { vector.covers($0.envelope.upTo) }
        var superseded: [BatchCatalog.Item] = []
        for item in whole where whole.contains(where: { $0.supersedes(item) }) {
            whole.removeAll { $0 == item }
            superseded.append(item)
        }
        self.superseded = superseded
        // Names begin with how far a batch leads its sender.
        whole.sort { $0.name < $1.name }
        var start = whole.count
        var bytes = 0
        while start > 0 {
            let next = whole[start - 1].envelope.payloadBytes
            let isSmall = whole.count - start < Self.filesMax / 2 && next < Self.smallBytes
            guard bytes == 0 || isSmall || next <= Self.growth * bytes else { break }
            bytes += next
            start -= 1
        }
        let new = whole[start...].reduce(1) {
            $0 + $1.envelope.factCount / Self.factsEach
        }
        guard whole.count - start >= max(Self.filesMax / 2, 2 * new) else {
            (kept, replaced, from) = (whole, [], VersionVector())
            return
        }
        kept = Array(whole[..<start])
        replaced = Array(whole[start...])
        from = replaced.dropFirst().reduce(replaced[0].envelope.from) {
            $0.meet($1.envelope.from)
        }
    }

    /// Of batches that were replaced, those to remove now: all that every replica has merged, and
    /// of the others all but the newest few.
    static func removable(
        _ replaced: [BatchCatalog.Item], acknowledged: [VersionVector]
    ) -> [BatchCatalog.Item] {
        let lacking = replaced.filter { item in
            acknowledged.contains { !$0.covers(item.envelope.upTo) }
        }
        let spared = Set(lacking.suffix(spareMax))
        return replaced.filter { !spared.contains($0) }
    }
}

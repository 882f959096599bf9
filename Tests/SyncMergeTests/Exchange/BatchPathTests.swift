import SyncMerge
import SyncTesting
import Testing

/// Which batches a receiver takes, and that thousands of senders do not keep it busy.
@Suite(.timeLimit(.minutes(2))) struct BatchPathTests {
    private func item(
        _ name: String, sender: ReplicaID, from: VersionVector, upTo: VersionVector, bytes: Int
    ) -> BatchCatalog.Item {
        let batch = Batch(
            store: SimulatedReplica.store, sender: sender, from: from, upTo: upTo, entities: [],
            transactions: [], facts: [])
        let payload = [UInt8](repeating: 0, count: bytes)
        return .init(
            name: name, envelope: BatchEnvelope(batch, contentBytes: bytes, payload: payload))
    }

    /// As the rule reads: with each step all batches are looked at again.
    private func slowPath(
        _ items: [BatchCatalog.Item], since: VersionVector
    ) -> [BatchCatalog.Item] {
        var vector = since
        var rest = items
        var path: [BatchCatalog.Item] = []
        func reach(_ item: BatchCatalog.Item) -> Int64 {
            item.envelope.upTo.entries.reduce(0) { $0 + $1.number }
        }
        while true {
            rest.removeAll { vector.covers($0.envelope.upTo) }
            let open = rest.filter { vector.covers($0.envelope.from) }
            let best =
                vector.isEmpty
                ? open.max { reach($0) < reach($1) }
                : open.min { $0.envelope.payloadBytes < $1.envelope.payloadBytes }
            guard let best else { return path }
            path.append(best)
            vector.join(best.envelope.upTo)
        }
    }

    @Test func everyPathIsTheOneOfTheRule() {
        let names: [Character] = ["A", "B", "C", "D"]
        let replicas = names.map { SimulatedReplica.id($0) }
        for number in 0..<400 {
            let seed = TestSeed.fixed(UInt64(number))
            var random = seed.random
            func vector(_ most: Int) -> VersionVector {
                VersionVector(replicas.map { Dot($0, Int64(random.below(most + 1))) })
            }
            let items = (0..<random.below(14)).map { index in
                let from = random.below(3) == 0 ? VersionVector() : vector(3)
                return item(
                    "\(index)", sender: replicas[random.below(4)], from: from,
                    upTo: from.joined(vector(5)), bytes: random.below(3))
            }
            let since = random.below(3) == 0 ? VersionVector() : vector(3)
            let catalog = BatchCatalog(items)
            #expect(
                catalog.path(since: since).map(\.name)
                    == slowPath(catalog.items, since: since).map(\.name), "\(seed)")
        }
    }

    @Test func thousandsOfSendersAreChosenInASecond() {
        let first = SimulatedReplica.id("A")
        let base = VersionVector([Dot(first, 1)])
        let items = (0..<3_000).map { index in
            let digits = String(index, radix: 16)
            let name = "b" + String(repeating: "0", count: 31 - digits.count) + digits
            let sender = ReplicaID(name) ?? first
            return item(
                name, sender: sender, from: base,
                upTo: base.joined(VersionVector([Dot(sender, 1)])),
                bytes: 10)
        }
        let catalog = BatchCatalog(items)
        let start = ContinuousClock.now
        #expect(catalog.path(since: base).count == items.count)
        #expect(ContinuousClock.now - start < .seconds(10))
    }
}

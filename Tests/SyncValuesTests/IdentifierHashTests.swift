import SyncValues
import Testing

/// Tables of identifiers stay fast whatever the identifiers are: counted up, equal in one half, or
/// random.
@Suite("Hashes of identifiers")
struct IdentifierHashTests {
    @Test(
        "all low bits are used, as evenly as by chance",
        arguments: [
            "counted in the high half", "counted in the low half", "equal halves", "spaced",
            "random",
        ])
    func spread(kind: String) {
        let count = 1 << 14
        let names = (0..<UInt64(count)).map { number in
            switch kind {
            case "counted in the high half": ReplicaID(high: number, low: 7)
            case "counted in the low half": ReplicaID(high: 7, low: number)
            case "equal halves": ReplicaID(high: number, low: number)
            case "spaced": ReplicaID(high: number << 48, low: number << 40)
            default: ReplicaID.random()
            }
        }
        var buckets = [Int](repeating: 0, count: count)
        for name in names { buckets[name._rawHashValue(seed: 0) & (count - 1)] += 1 }
        // Of as many balls as boxes 36.8 % of the boxes stay empty, give or take 0.2; some have 8.
        let empty = Double(buckets.count { $0 == 0 }) / Double(count)
        #expect(empty > 0.34 && empty < 0.4)
        #expect((buckets.max() ?? 0) < 16)
    }

    @Test("another table has another order")
    func seeds() {
        let name = ReplicaID(high: 1, low: 2)
        #expect(name._rawHashValue(seed: 1) != name._rawHashValue(seed: 2))
    }
}

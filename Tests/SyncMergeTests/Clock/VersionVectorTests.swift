import SyncTesting
import Testing

@testable import SyncMerge
@testable import SyncValues

@Suite struct VersionVectorTests {
    private static let replicas = (1...4).map { ReplicaID(high: 0, low: UInt64($0)) }

    private func vector(_ numbers: [Int64]) -> VersionVector {
        VersionVector(zip(Self.replicas, numbers).map { Dot($0, $1) })
    }

    @Test func aNumberCoversAllBelow() {
        let vector = vector([0, 3])
        #expect(vector.covers(Dot(Self.replicas[1], 1)) && vector.covers(Dot(Self.replicas[1], 3)))
        #expect(!vector.covers(Dot(Self.replicas[1], 4)))
        #expect(!vector.covers(Dot(Self.replicas[0], 1)))
        #expect(vector.entries.count == 1, "a replica without transactions has no entry")
    }

    @Test func nothingIsTakenBack() {
        var vector = vector([5])
        vector.advance(to: Dot(Self.replicas[0], 3))
        #expect(vector[Self.replicas[0]] == 5)
    }

    @Test func theSumOfAllNumbersDoesNotOverflow() {
        #expect(vector([2, 3]).transactionsMax == 5)
        #expect(vector([.max, .max]).transactionsMax == .max)
    }

    /// A join is the least vector that covers both, in any order.
    @Test func aJoinIsTheLeastUpperBound() {
        let seed = TestSeed.drawn()
        var random = seed.random
        for _ in 0..<300 {
            let numbers = (0..<2).map { _ in (0..<4).map { _ in Int64(random.below(4)) } }
            let vectors = numbers.map(vector)
            var joined = vectors[0]
            joined.join(vectors[1])
            #expect(joined == vector(zip(numbers[0], numbers[1]).map(max)), "\(seed)")
            #expect(joined.covers(vectors[0]) && joined.covers(vectors[1]), "\(seed)")
            var other = vectors[1]
            other.join(vectors[0])
            #expect(joined == other, "\(seed)")
            let isCovered = zip(numbers[0], numbers[1]).allSatisfy { $0 >= $1 }
            #expect(vectors[0].covers(vectors[1]) == isCovered, "\(seed): \(numbers)")
        }
    }
}

import Testing

@testable import SyncMerge

@Suite("Order of references")
struct ReferenceOrderTests {
    private func order(_ targets: [[Int]]) -> [[Int]] {
        components(targets).map(\.entities)
    }

    private func components(_ targets: [[Int]]) -> [ReferenceOrder.Component] {
        let entities = targets.enumerated().map { position, targets in
            MergeEntity(
                name: "t\(position)",
                columns: [.init("id", isRequired: true)] + targets.map { .init("c\($0)") },
                key: [0], identity: .privateNumber,
                references: targets.enumerated().map { column, target in
                    .init([column + 1], to: target, onDelete: .restrict)
                })
        }
        return ReferenceOrder(of: MergeSchema(entities)).components
    }

    @Test("targets come first")
    func chains() {
        #expect(order([]) == [])
        #expect(order([[], []]) == [[0], [1]])
        #expect(order([[1], [2], []]) == [[2], [1], [0]])
        #expect(order([[1, 2], [3], [3], []]) == [[3], [1], [2], [0]])
    }

    @Test("circles are one component")
    func circles() {
        #expect(order([[1], [0], [1]]) == [[0, 1], [2]])
        #expect(order([[1], [2, 3], [0], []]) == [[3], [0, 1, 2]])
        #expect(order([[1], [0], [3], [2, 0]]) == [[0, 1], [2, 3]])
        #expect(components([[0], [0]]).map(\.isCircular) == [true, false])
        #expect(components([[1], [0]]).map(\.isCircular) == [true])
    }
}

import Foundation
import SyncCore
import Testing

@testable import SyncObjects

/// The changes that a context has not merged yet.
@Suite struct ChangeQueueTests {
    private let entity: EntityLayout
    private let origin: ManagedObjectID.Origin

    init() throws {
        entity = try TodoModel.make().entity("C_Task")
        origin = ManagedObjectID.Origin(store: UUID(), entity: "C_Task")
    }

    private func row(_ key: Int64) -> StoredRow {
        StoredRow(entity: entity, id: ManagedObjectID(origin, key: .integer(key)), values: [])
    }

    private func saved(_ keys: Int64...) -> StoreChange {
        .saved(SavedChange(inserted: keys.map(row), updated: keys.map { row($0 + 100) }))
    }

    private func keys(_ changes: [StoreChange]) -> [[String]] {
        changes.map { change in
            switch change {
            case .saved(let saved): return (saved.inserted + saved.updated).map { "\($0.id.key)" }
            case .committed: return ["committed"]
            case .unknown(let roots): return roots.sorted()
            case .storeLost: return ["lost"]
            }
        }
    }

    @Test func changesAreTakenInTheirOrder() {
        var queue = ChangeQueue()
        queue.append(saved(1))
        queue.append(.storeLost)
        #expect(keys(queue.takeAll()) == [["1", "101"], ["lost"]])
        #expect(queue.takeAll().isEmpty)
    }

    @Test func oneReadCoversEarlierCommits() {
        var queue = ChangeQueue()
        queue.append(.unknown(roots: ["A", "B"]))
        queue.append(saved(1))
        queue.append(.unknown(roots: ["B"]))
        queue.append(.unknown(roots: ["A"]))
        #expect(keys(queue.changes) == [["1", "101"], ["B"], ["A"]])
    }

    @Test func unmergedChangesComeBeforeLaterOnes() {
        var queue = ChangeQueue()
        queue.append(saved(1))
        queue.append(saved(2))
        let taken = queue.takeAll()
        queue.append(saved(3))
        queue.putBack(taken[1...])
        #expect(keys(queue.changes) == [["2", "102"], ["3", "103"]])
    }

    @Test func rowsThatTheContextWroteSinceAreDropped() {
        var queue = ChangeQueue()
        queue.append(saved(1, 2))
        queue.dropRows(writtenBy: SavedChange(updated: [row(1), row(102)]))
        #expect(keys(queue.changes) == [["2", "101"]])
    }
}

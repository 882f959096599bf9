import Foundation
import Testing

@testable import SyncObjects

@Suite struct MemberCacheTests {
    private let origin = ManagedObjectID.Origin(store: UUID(), entity: "C_Task")

    private func id(_ number: Int64) -> ManagedObjectID {
        ManagedObjectID(origin, key: .integer(number))
    }

    @Test func membersAreAddedOnceAndOnlyToCachedLists() {
        var cache = MemberCache()
        let key = MemberCache.Key(owner: id(1), relation: "tasks")
        cache.add(id(2), to: key)
        #expect(cache[key] == nil)
        cache[key] = [id(3)]
        cache.add(id(2), to: key)
        cache.add(id(2), to: key)
        #expect(cache[key] == [id(3), id(2)])
        cache.remove(id(3), from: key)
        #expect(cache[key] == [id(2)])
        cache.removeAll()
        #expect(cache[key] == nil)
    }
}

import SyncCore
import Testing

@testable import SyncObjects

/// Positions in ordered relationships.
@Suite struct ListOrderTests {
    private func numbers(_ values: [Value]) -> [Double] {
        values.compactMap { if case .real(let number) = $0 { number } else { nil } }
    }

    @Test func aMovedMemberLeavesTheOthersInPlace() {
        let moved = ListOrder.places([.real(1024), .real(4096), .real(2048), .real(3072)])
        #expect(numbers(moved)[0] == 1024)
        #expect(numbers(moved)[2...] == [2048, 3072])
        #expect(numbers(moved)[1] > 1024 && numbers(moved)[1] < 2048)
    }

    @Test func newMembersGetPositionsBetweenTheOthers() {
        let places = numbers(ListOrder.places([.null, .real(1024), .null, .real(2048), .null]))
        #expect(places == places.sorted())
        #expect(Set(places).count == 5)
        #expect(places[1] == 1024 && places[3] == 2048)
    }

    @Test func positionsThatAreTooCloseAreAssignedAgain() {
        let places = ListOrder.places([.real(1), .null, .real(1 + 1e-9)])
        #expect(numbers(places) == [1024, 2048, 3072])
    }

    @Test func increasingKeepsTheMost() {
        #expect(ListOrder.increasing([3, 1, 2]) == [1, 2])
        #expect(ListOrder.increasing([]) == [])
        #expect(ListOrder.after(.null) == .real(1024))
        #expect(ListOrder.after(.real(5)) == .real(1029))
    }
}

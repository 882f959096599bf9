import Foundation
import Testing

@testable import SyncObjects

/// A key that comes back belongs to another object.
@Suite struct IdentitiesTests {
    private let identities = Identities(store: UUID())
    private var origin: ManagedObjectID.Origin { identities.origin("C_Task") }

    @Test func aDeletionReportedTwiceIsOne() {
        let first = identities.id(in: origin, key: .integer(1))
        #expect(first.incarnation == 1)
        identities.retire(first, at: 10)
        let reported = identities.recordDeletion(origin: origin, key: .integer(1), at: 10)
        #expect(reported == first)
        #expect(identities.id(in: origin, key: .integer(1)).incarnation == 2)
        let second = identities.recordDeletion(origin: origin, key: .integer(1), at: 11)
        #expect(second.incarnation == 2)
    }

    @Test func aCopyDoesNotLearnLaterDeletions() {
        let copy = Identities(copying: identities)
        identities.retire(identities.id(in: origin, key: .integer(1)), at: 0)
        #expect(copy.id(in: copy.origin("C_Task"), key: .integer(1)).incarnation == 1)
    }

    @Test func temporaryIdsResolveToPermanentOnes() {
        let temporary = ManagedObjectID(origin, key: identities.temporaryKey())
        #expect(identities.resolve(temporary) == temporary)
        let permanent = ManagedObjectID(origin, key: .integer(7))
        identities.alias(temporary, to: permanent)
        #expect(identities.resolve(temporary) == permanent)
        #expect(identities.temporaryKey() != temporary.key)
    }

    @Test func keysComeInBlocks() {
        var block = StoreCoordinator.KeyBlock(next: 5, end: 7, size: 64)
        #expect(block.take() == 5)
        #expect(block.take() == 6)
        #expect(block.take() == nil)
    }
}

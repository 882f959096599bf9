import Foundation
import Testing

@testable import SyncObjects

/// What a context names in a notification.
@Suite struct TouchLogTests {
    private let origin = ManagedObjectID.Origin(store: UUID(), entity: "C_Task")

    private func id(_ number: Int64) -> ManagedObjectID {
        ManagedObjectID(origin, key: .integer(number))
    }

    @Test func anInsertedOrDeletedObjectIsNotUpdated() {
        var log = TouchLog()
        for number in Int64(1)...3 { log.updated.insert(id(number)) }
        log.inserted.insert(id(1))
        log.deleted.insert(id(2))
        let objects = log.objects
        #expect(objects.inserted == [id(1)])
        #expect(objects.updated == [id(3)])
        #expect(objects.deleted == [id(2)])
    }

    @Test func takingEmptiesTheLog() {
        var log = TouchLog()
        log.unknown = ["C_Task"]
        #expect(log.take().unknown == ["C_Task"])
        #expect(log.isEmpty)
    }

    @Test func anObjectIsNotedOnceForEachNotification() throws {
        let task = try TodoTask(detached: EntityDescription("C_Task"))
        var log = TouchLog()
        log.noteChange(of: task)
        #expect(!log.isEmpty)
        _ = log.take()
        log.noteChange(of: task)
        #expect(!log.isEmpty)
        log.updated = TouchLog.Entries()
        log.noteChange(of: task)
        #expect(log.isEmpty)
    }
}

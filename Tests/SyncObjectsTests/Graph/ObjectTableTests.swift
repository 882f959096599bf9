import Foundation
import SyncTesting
import Testing

@testable import SyncObjects

/// The table that knows objects without holding them.
@Suite(.timeLimit(.minutes(1))) struct ObjectTableTests {
    private let context: ManagedObjectContext
    private let origin: ManagedObjectID.Origin

    init() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make())
        context = try container.newBackgroundContext()
        origin = context.identities.origin("C_Task")
    }

    private func id(_ number: Int) -> ManagedObjectID {
        ManagedObjectID(origin, key: .integer(Int64(number)))
    }

    @Test func objectsAreThereWhileSomebodyHoldsThem() throws {
        let seed = TestSeed.drawn()
        var random = seed.random
        var held: [Int: ManagedObject] = [:]
        for _ in 0..<20_000 {
            let number = Int.random(in: 0..<300, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let object = try context.object(with: id(number))
                if let known = held[number] { #expect(known === object, "\(seed)") }
                held[number] = object
            case 2, 3: held[number] = nil
            default:
                let known = context.registeredObject(for: id(number))
                #expect(known === held[number], "\(seed)")
            }
        }
        #expect(context.registeredObjects == Set(held.values), "\(seed)")
    }

    @Test func objectsThatEndAreNotFoundAndDisturbNobody() async throws {
        let context = context
        let ids = (1...8).map(id)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for round in 0..<20_000 {
                        let wanted = ids[round % ids.count]
                        let object = try context.object(with: wanted)
                        guard object.objectID == wanted, object.managedObjectContext === context
                        else { throw ObjectError(.storeFailure, "another object") }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(context.registeredObjects.isEmpty)
    }
}

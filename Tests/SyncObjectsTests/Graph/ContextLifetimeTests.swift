import Foundation
import Synchronization
import Testing

@testable import SyncObjects

/// Contexts are released while another thread sends changes to them.
@Suite(.timeLimit(.minutes(1))) struct ContextLifetimeTests {
    private static let batchCount = 60_000
    private static let batchSize = 2

    /// Makes and releases contexts while `send` runs again and again on another thread.
    private static func releasing(
        _ make: @escaping @Sendable () throws -> ManagedObjectContext,
        while send: @escaping @Sendable () -> Void
    ) throws {
        let rest = Countdown(batchCount)
        let hasEnded = DispatchSemaphore(value: 0)
        // A thread of its own: those of the queues may all be busy.
        Thread.detachNewThread {
            while !rest.isAtEnd { send() }
            hasEnded.signal()
        }
        defer {
            rest.end()
            hasEnded.wait()
        }
        while !rest.isAtEnd {
            // One by one, the oldest first, as the other thread reads through all of them.
            var contexts = try (0..<batchSize).map { _ in try make() }
            for context in contexts { context.automaticallyMergesChangesFromParent = false }
            while !contexts.isEmpty { contexts.removeFirst() }
            rest.step()
        }
    }

    @Test func ofAStore() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make())
        let coordinator = try container.coordinator
        try Self.releasing(
            { try container.newBackgroundContext() },
            while: { coordinator.publishUnknown(["Task"]) })
    }

    @Test func ofAParent() throws {
        let container = try PersistentContainer.inMemory(try TodoModel.make())
        let parent = try container.newBackgroundContext()
        try Self.releasing(
            { parent.makeChild() },
            while: { parent.notifyChildren(.unknown(roots: ["Task"]), except: nil) })
    }
}

private final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    var isAtEnd: Bool { left.withLock { $0 <= 0 } }

    func step() { left.withLock { $0 -= 1 } }

    func end() { left.withLock { $0 = 0 } }
}

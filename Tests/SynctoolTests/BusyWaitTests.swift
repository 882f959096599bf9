import SyncCore
import Testing

@testable import synctool

/// What others hold is tried again, and nothing else is.
@Suite struct BusyWaitTests {
    private let busy = SyncError(.busy, "another connection holds the lock")

    @Test func itIsRepeatedUntilItIsFree() async throws {
        var attempts = 0
        let result = try await BusyWait.repeating(atMost: .seconds(60), pause: .zero) {
            attempts += 1
            if attempts < 4 { throw busy }
            return attempts
        }
        #expect(result == 4)
    }

    @Test func otherErrorsAndWhatIsOverAreNotRepeated() async throws {
        var attempts = 0
        await #expect(throws: SyncError(.refused, "")) {
            try await BusyWait.repeating(atMost: .seconds(60), pause: .zero) {
                attempts += 1
                throw SyncError(.refused, "no")
            }
        }
        await #expect(throws: busy) {
            try await BusyWait.repeating(
                atMost: .seconds(60), pause: .zero, while: { attempts < 3 }
            ) {
                attempts += 1
                throw busy
            }
        }
        #expect(attempts == 3)
        await #expect(throws: busy) {
            try await BusyWait.repeating(atMost: .zero, pause: .zero) {
                attempts += 1
                throw busy
            }
        }
        #expect(attempts == 4)
    }
}

import SyncCore
import SyncTesting
import Testing

@testable import SyncObjects

/// What `following` reports about syncd.
@Suite(.timeLimit(.minutes(2))) struct FollowStateTests {
    @Test func aRefusalBySyncdIsReported() async throws {
        let store = try await SharedStore(.up)
        let other = try store.folder.container("other.sqlite")
        defer { other.close() }
        _ = try Store.track(store.folder.file("other.sqlite").path)
        try other.followExternalChanges(through: store.client)
        let isReported = await eventually {
            (try? other.coordinator.following.lastError) != nil
        }
        let state = try other.coordinator.following
        try #require(isReported, "\(state)")
        #expect((state.lastError?.underlying as? SyncError)?.code == .unknownStore)
        #expect(state.source == .file)
    }

    @Test func aDaemonThatIsNotRunningIsNoError() async throws {
        let store = try await SharedStore(.down)
        try await store.follow()
        try await Task.sleep(for: .milliseconds(300))
        let state = try store.container.coordinator.following
        #expect(state.lastError == nil)
        #expect(state.source == .file)
    }
}

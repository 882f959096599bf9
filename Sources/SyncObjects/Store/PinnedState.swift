import Foundation

/// How long a context has been pinned, and what that costs.
public struct PinnedState: Sendable {
    /// Since when it stays at its state of the store.
    public let since: Date
    /// The size of the store's write-ahead log in bytes. It cannot be checkpointed beyond that
    /// state.
    public let walBytes: Int
}

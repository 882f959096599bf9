/// When the daemon synchronises stores with their remotes: the configuration's `sync`.
struct ReplicationOptions: Sendable, Equatable, Codable {
    /// Whether it does at all.
    var isEnabled = true
    /// How long it waits after a commit for another one: a burst is sent as one batch. Shorter
    /// makes many small batches; longer makes others wait.
    var delayMilliseconds = 300
    /// A burst that does not end is sent after this number of delays.
    static let burstDelays = 10
    /// How often each remote is checked: some give no notice, and a notice may be missed.
    var intervalSeconds = 30
    /// The longest pause after failures; the first is a second, each is twice the one before.
    var retryMaxSeconds = 300
}

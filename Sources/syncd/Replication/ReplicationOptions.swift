/// When stores are synchronised by the daemon.
struct ReplicationOptions: Sendable, Equatable {
    /// Whether they are at all.
    var isEnabled = true
    /// After a commit, so long without another one: a burst goes as one batch. Shorter makes many
    /// small batches; longer lets others wait.
    var delayMilliseconds = 300
    /// A burst that does not end is sent every so many delays.
    static let burstDelays = 10
    /// How often a remote is looked at that gives no notice, or whose notice was missed.
    var intervalSeconds = 30
    /// The longest pause after failures; the first is a second, each is twice the one before.
    var retryMaxSeconds = 300
}

import SyncValues

/// A registered reader of history. Consumers are rows in the store, so that they travel with the
/// file.
public struct Consumer: Sendable, Hashable {
    /// What a consumer is for; decides whether it holds history back.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Reads history; purging waits for it.
        case reader
        /// Only writes; purging never waits for it.
        case writer
        /// Another replica; purging waits for it.
        case peer
    }

    /// Its name, unique within the store.
    public let name: String
    /// What it is for.
    public let kind: Kind
    /// It has read everything up to this number; 0 when it never acknowledged anything.
    public let acknowledged: Int64
    /// How long it may stay silent before purging passes it; nil: it never expires.
    public let lease: Duration?
    /// When it last registered or acknowledged.
    public let lastSeen: Timestamp
    /// When it registered first.
    public let created: Timestamp

    /// The longest lease: some 35,000 years.
    public static let leaseMax = Duration.seconds(1 << 40)

    /// Makes a consumer: for decoders.
    public init(
        name: String, kind: Kind, acknowledged: Int64, lease: Duration?, lastSeen: Timestamp,
        created: Timestamp
    ) {
        self.name = name
        self.kind = kind
        self.acknowledged = acknowledged
        self.lease = lease
        self.lastSeen = lastSeen
        self.created = created
    }

    /// True when the lease ran out: purging no longer waits for it.
    public func isLapsed(at now: Timestamp) -> Bool {
        guard let lease else { return false }
        let silence = now.milliseconds.subtractingReportingOverflow(lastSeen.milliseconds)
        // Beyond the range only where the file says so.
        guard !silence.overflow else { return lastSeen < now }
        return silence.partialValue > lease.milliseconds
    }

    /// True when purging has to wait for it.
    public func holdsHistory(at now: Timestamp) -> Bool { kind != .writer && !isLapsed(at: now) }
}

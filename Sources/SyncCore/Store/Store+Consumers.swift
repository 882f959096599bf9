import SyncStorage
import SyncValues

extension Store {
    /// The registered consumers, by name, with what they acknowledged so far.
    /// - Throws: ``SyncError``: `storeDamaged`, `storeReplaced`, and what opening throws.
    public func consumers() throws -> [Consumer] { try consumers(at: .now()) }

    /// - Parameter now: wall time. After a jump of the clock the stamps of consumers are shown as
    ///   if it had always been as it is now (``StoreClock``).
    /// - Throws: as ``consumers()``.
    package func consumers(at now: Timestamp) throws -> [Consumer] {
        try explaining("consumers") {
            let (rows, clock) = try reading.read { reader in
                (try ConsumerTable.all(reader.connection), try StoreClock(reader.metadata))
            }
            let observed = clock.observed(at: now.milliseconds)
            return rows.map { observed.shown(acknowledgements.applied(to: $0)) }
        }
    }

    /// Registers a consumer, or renews what is known of it; its position stays.
    ///
    /// - Parameters:
    ///   - name: 1 to 200 bytes.
    ///   - lease: how long it may stay silent before purging passes it; nil: it never expires.
    /// - Throws: ``SyncError``: `invalidArgument`, `busy`, `readOnly`.
    @discardableResult
    public func register(
        consumer name: String, kind: Consumer.Kind = .reader, lease: Duration? = nil
    ) throws -> Consumer {
        try register(consumer: name, kind: kind, lease: lease, at: .now())
    }

    /// - Parameter now: wall time.
    /// - Throws: as ``register(consumer:kind:lease:)``.
    @discardableResult
    package func register(
        consumer name: String, kind: Consumer.Kind = .reader, lease: Duration? = nil,
        at now: Timestamp
    ) throws -> Consumer {
        try explaining("register") {
            guard 1...200 ~= name.utf8.count else {
                throw SyncError(
                    .invalidArgument, "the name of a consumer must have 1 to 200 bytes",
                    hint: "Choose a name of that length")
            }
            if let lease, lease <= .zero {
                throw SyncError(
                    .invalidArgument, "the lease must be positive",
                    hint: "Omit it for a consumer that never expires")
            }
            if let lease, lease > Consumer.leaseMax {
                throw SyncError(
                    .invalidArgument,
                    "the lease must not exceed \(Consumer.leaseMax.components.seconds) seconds",
                    hint: "Omit it for a consumer that never expires")
            }
            return try live.withState { connection, _ in
                let clock = try RawTransaction.write(on: connection) {
                    let clock = try StoreClock.observe(
                        Metadata(connection), at: now.milliseconds,
                        newest: try LogTable.newest(on: connection))
                    try ConsumerTable.upsert(
                        on: connection, name: name, kind: kind, lease: lease,
                        seen: Timestamp(milliseconds: clock.time), created: now)
                    return clock
                }
                return clock.shown(
                    acknowledgements.applied(
                        to: try ConsumerTable.find(on: connection, named: name)))
            }
        }
    }

    /// Says that a consumer has read everything up to a token. Never moves back: an older token is
    /// only a sign of life. Kept in memory and written with the next digest.
    ///
    /// - Throws: ``SyncError``: `unknownConsumer`, `historyExpired`, `foreignHistory`.
    public func acknowledge(consumer name: String, _ token: Token) throws {
        try acknowledge(consumer: name, token, at: .now())
    }

    /// - Parameter now: wall time.
    /// - Throws: as ``acknowledge(consumer:_:)``.
    package func acknowledge(consumer name: String, _ token: Token, at now: Timestamp) throws {
        try explaining("acknowledge") {
            let clock = try reading.read { reader in
                _ = try ConsumerTable.find(on: reader.connection, named: name)
                try TokenCheck(reader, identity: identity).check(token)
                return try StoreClock(reader.metadata).observed(at: now.milliseconds)
            }
            acknowledgements.take(
                name, upTo: token.number, at: Timestamp(milliseconds: clock.time))
        }
    }

    /// Removes a consumer: history no longer waits for it.
    ///
    /// - Throws: ``SyncError``: `unknownConsumer`, `busy`.
    public func remove(consumer name: String) throws {
        try explaining("remove") {
            try live.withState { connection, _ in
                try RawTransaction.write(on: connection) {
                    try ConsumerTable.delete(on: connection, named: name)
                }
            }
            acknowledgements.drop(name)
        }
    }

    /// Writes the acknowledgements that are kept in memory.
    /// - Throws: ``SyncError``: `busy`, `readOnly`; nothing is lost then.
    public func flush() throws {
        try explaining("flush") {
            try live.withState { connection, _ in try acknowledgements.write(to: connection) }
        }
    }
}

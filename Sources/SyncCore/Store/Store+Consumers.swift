import SyncStorage
import SyncValues

extension Store {
    /// The registered consumers, by name, with what they acknowledged so far.
    /// - Throws: ``SyncError``: `storeDamaged`, `storeReplaced`, and what opening throws.
    public func consumers() throws -> [Consumer] {
        try explaining("consumers") {
            try reading.read { try ConsumerTable.all($0.connection) }
                .map(acknowledgements.applied(to:))
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
                try RawTransaction.write(on: connection) {
                    try ConsumerTable.upsert(
                        on: connection, name: name, kind: kind, lease: lease, now: .now())
                }
                return acknowledgements.applied(
                    to: try ConsumerTable.find(on: connection, named: name))
            }
        }
    }

    /// Says that a consumer has read everything up to a token. Never moves back: an older token is
    /// only a sign of life. Kept in memory and written with the next digest.
    ///
    /// - Throws: ``SyncError``: `unknownConsumer`, `historyExpired`, `foreignHistory`.
    public func acknowledge(consumer name: String, _ token: Token) throws {
        try explaining("acknowledge") {
            try reading.read { reader in
                _ = try ConsumerTable.find(on: reader.connection, named: name)
                try TokenCheck(reader, identity: identity).check(token)
            }
            acknowledgements.take(name, upTo: token.number, at: .now())
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

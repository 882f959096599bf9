import SyncStorage
import SyncValues

extension Store {
    /// The registered consumers, by name, with what they acknowledged so far.
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
    ///   - lease: how long it may stay silent before purging passes it; nil: for ever.
    /// - Throws: ``SyncError``: `invalidArgument`, `busy`, `readOnly`.
    @discardableResult
    public func register(
        consumer name: String, kind: Consumer.Kind = .reader, lease: Duration? = nil
    ) throws -> Consumer {
        try explaining("register") {
            guard 1...200 ~= name.utf8.count else {
                throw SyncError(
                    .invalidArgument, "a consumer's name has 1 to 200 bytes",
                    hint: "Choose a shorter name")
            }
            if let lease, lease <= .zero {
                throw SyncError(
                    .invalidArgument, "a lease has to be longer than nothing",
                    hint: "Leave it out for a consumer that never lapses")
            }
            if let lease, lease > Consumer.leaseMax {
                throw SyncError(
                    .invalidArgument,
                    "a lease has at most \(Consumer.leaseMax.components.seconds) seconds",
                    hint: "Leave it out for a consumer that never lapses")
            }
            return try live.withState { connection, _ in
                try RawTransaction.write(connection) {
                    try ConsumerTable.upsert(connection, name, kind, lease, now: .now())
                }
                return acknowledgements.applied(to: try ConsumerTable.find(connection, name))
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
                _ = try ConsumerTable.find(reader.connection, name)
                try TokenCheck(reader, identity).check(token)
            }
            acknowledgements.take(name, token.number, at: .now())
        }
    }

    /// Removes a consumer: history no longer waits for it.
    ///
    /// - Throws: ``SyncError``: `unknownConsumer`, `busy`.
    public func remove(consumer name: String) throws {
        try explaining("remove") {
            try live.withState { connection, _ in
                try RawTransaction.write(connection) {
                    try ConsumerTable.delete(connection, name)
                }
            }
            acknowledgements.drop(name)
        }
    }

    /// Writes the acknowledgements that are kept in memory.
    public func flush() throws {
        try explaining("flush") {
            try live.withState { connection, _ in try acknowledgements.write(to: connection) }
        }
    }
}

/// The rows of `syncd_consumer`.
enum ConsumerTable {
    static func all(_ connection: OpaquePointer) throws -> [Consumer] {
        let select = try Statement(connection, selection + " ORDER BY name")
        var result: [Consumer] = []
        while try select.step() { result.append(consumer(select)) }
        return result
    }

    /// - Throws: `unknownConsumer`.
    static func find(_ connection: OpaquePointer, _ name: String) throws -> Consumer {
        let select = try Statement(connection, selection + " WHERE name = ?1")
        select.bind(1, name)
        defer { select.reset() }
        guard try select.step() else { throw unknown(name) }
        return consumer(select)
    }

    static func upsert(
        _ connection: OpaquePointer, _ name: String, _ kind: Consumer.Kind, _ lease: Duration?,
        now: Timestamp
    ) throws {
        let upsert = try Statement(
            connection,
            """
            INSERT INTO syncd_consumer(name, kind, acknowledged, lease, seen, created)
            VALUES (?1, ?2, 0, ?3, ?4, ?4)
            ON CONFLICT(name) DO UPDATE SET kind = ?2, lease = ?3, seen = ?4
            """)
        try upsert.run(
            .text(name), .text(kind.rawValue), lease.map { .integer($0.milliseconds) } ?? .null,
            .integer(now.milliseconds))
    }

    static func delete(_ connection: OpaquePointer, _ name: String) throws {
        _ = try find(connection, name)
        try Statement(connection, "DELETE FROM syncd_consumer WHERE name = ?1").run(.text(name))
    }

    private static let selection =
        "SELECT name, kind, acknowledged, lease, seen, created FROM syncd_consumer"

    private static func consumer(_ row: Statement) -> Consumer {
        Consumer(
            name: row.text(0) ?? "", kind: Consumer.Kind(rawValue: row.text(1) ?? "") ?? .reader,
            acknowledged: row.integer(2),
            lease: row.integerOrNil(3).map(Duration.milliseconds),
            lastSeen: Timestamp(milliseconds: row.integer(4)),
            created: Timestamp(milliseconds: row.integer(5)))
    }

    private static func unknown(_ name: String) -> SyncError {
        SyncError(
            .unknownConsumer, "no consumer '\(name)' is registered",
            hint: "List them with: synctool consumers DB")
    }
}

import SyncMerge
import SyncStorage
import SyncValues

/// `syncd_reach`: how far each remote led after the last exchange with it. A remote that leads less
/// far was put back to an earlier state, or lost files.
enum RemoteReach {
    /// Compares what a remote has with what it had.
    /// - Parameters:
    ///   - found: how far it led when it was looked at.
    ///   - had: how far it had led before it was looked at: another process that exchanges with it,
    ///     as a daemon does, may have noted more since.
    ///   - after: how far it leads with what was sent to it; nil: nothing was sent.
    ///   - isWhole: whether all of its files could be read. Otherwise only what was missing before
    ///     still is: a file that cannot be read is named itself.
    ///   - members: batches of those that were removed are not looked at, and not missed.
    /// - Returns: up to where it had what it lacks.
    /// - Throws: SQLite errors; `badData` for a stored vector that cannot be read.
    static func note(
        _ found: VersionVector, had: VersionVector, after: VersionVector?, isWhole: Bool,
        at url: String, members: MemberDecisions, on connection: OpaquePointer
    ) throws -> VersionVector {
        let select = try Statement(
            "SELECT vector, lost FROM syncd_reach WHERE url = ?1", on: connection)
        select.bind(.text(url), at: 1)
        let isKnown = try select.step()
        let noted = isKnown ? try VersionVector(stored: select.blob(0)) : VersionVector()
        let lacked = isKnown ? try VersionVector(stored: select.blob(1)) : VersionVector()
        select.reset()
        let missing = isWhole ? had : lacked
        let lost = VersionVector(
            missing.entries.filter { !found.covers($0) && members.accepts($0.replica) })
        let has = found.joined(after ?? VersionVector())
        let isHealed = has.covers(lost)
        try Statement("INSERT OR REPLACE INTO syncd_reach VALUES (?1, ?2, ?3)", on: connection)
            .run(
                .text(url), .blob(noted.joined(has).stored),
                isHealed ? .null : .blob(lost.stored))
        return lost
    }

    /// The addresses of the remotes that lack what they had.
    /// - Throws: SQLite errors.
    static func lacking(_ connection: OpaquePointer) throws -> Set<String> {
        guard try SchemaReader.hasTable("syncd_reach", on: connection) else { return [] }
        let select = try Statement(
            "SELECT url FROM syncd_reach WHERE lost IS NOT NULL", on: connection)
        var addresses: Set<String> = []
        while try select.step() { addresses.insert(select.text(0) ?? "") }
        return addresses
    }

    /// The remotes that lack what they had, as sentences.
    /// - Throws: SQLite errors; `badData` for a stored vector that cannot be read.
    static func findings(_ connection: OpaquePointer) throws -> [String] {
        guard try SchemaReader.hasTable("syncd_reach", on: connection) else { return [] }
        let select = try Statement(
            "SELECT url, lost FROM syncd_reach WHERE lost IS NOT NULL ORDER BY url", on: connection)
        var findings: [String] = []
        while try select.step() {
            let lost = try VersionVector(stored: select.blob(1))
            findings.append(problem(lost, at: select.text(0) ?? ""))
        }
        return findings
    }

    /// How far a remote led after the last exchange with it.
    /// - Throws: SQLite errors; `badData` for a stored vector that cannot be read.
    static func known(of url: String, on connection: OpaquePointer) throws -> VersionVector {
        guard try SchemaReader.hasTable("syncd_reach", on: connection) else {
            return VersionVector()
        }
        let select = try Statement(
            "SELECT vector FROM syncd_reach WHERE url = ?1", on: connection)
        select.bind(.text(url), at: 1)
        return try select.step() ? try VersionVector(stored: select.blob(0)) : VersionVector()
    }

    /// What a remote lacks, as a sentence.
    static func problem(_ lost: VersionVector, at url: String) -> String {
        let names = lost.entries.map { "replica \($0.replica) up to \($0.number)" }
        let shown = AddressText.withoutPassword(url).printable(countMax: 200)
        return "rewound: \(shown) lacks transactions that it had ("
            + names.joined(separator: ", ")
            + "): it was put back to an earlier state, or files were damaged. Every replica "
            + "that has them sends them again with: synctool sync DB"
    }
}

extension StoreReplica {
    /// Compares how far a remote led when it was looked at with how far it had led before.
    /// - Parameters: as in ``RemoteReach/note(_:had:after:isWhole:at:members:on:)``; `unread` says
    ///   what of it could not be read, for `status`.
    /// - Returns: what is wrong, as a sentence; nil: it has all that it had.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package func noteReach(
        _ found: VersionVector, had: VersionVector, after: VersionVector?, isWhole: Bool,
        unread: String? = nil, at url: String
    ) throws -> String? {
        try run("sync") { session in
            try session.transact { transaction in
                try UnreadRemotes.note(unread, at: url, on: session.connection)
                let lost = try RemoteReach.note(
                    found, had: had, after: after, isWhole: isWhole, at: url,
                    members: transaction.storage.members.all(), on: session.connection)
                return lost.isEmpty ? nil : RemoteReach.problem(lost, at: url)
            }
        }
    }

    /// How far a remote led after the last exchange with it; empty: unknown.
    /// - Throws: ``SyncError``: `busy`, and SQLite errors.
    package func knownReach(of url: String) throws -> VersionVector {
        try run("sync") { session in
            try RawTransaction.read(on: session.connection) {
                try RemoteReach.known(of: url, on: session.connection)
            }
        }
    }
}

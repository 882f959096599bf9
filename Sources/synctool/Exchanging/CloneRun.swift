import Foundation
import SyncRemotes
import SyncReplica
import SyncStorage

/// Creates a new replica from a remote. The file has a temporary name until it is complete: the
/// next run continues from there after an interruption. Until then no other user may read it, and
/// a file of that name that this user did not make is neither used nor changed.
struct CloneRun {
    let url: String
    /// The absolute path of the new database.
    let path: String
    let remoteName: String
    var options: RemoteEntry.Options
    let ring: KeyRing
    /// Whether triggers that write tracked tables, and what is recursive, are made.
    var allowsSchema = false

    private var part: String { TemporaryDatabases.clone(of: path) }

    /// What a clone is.
    struct Result {
        /// What was pulled, the snapshot included when this run fetched it.
        var report: ExchangeReport
        /// The objects of the store's schema that were not made.
        var refused: [RefusedObject]
        /// Whether a replica stated the schema of the store: otherwise the new one has the
        /// synchronised tables and their indexes.
        var isSchemaKnown: Bool
        /// How the schema of the new one differs from that of the store, where that is known.
        var comparison: SchemaComparison?
    }

    /// - Returns: what was made.
    /// - Throws: `refused` when the file exists, when something that this user did not make has
    ///   the temporary name, or the remote has no snapshot; `unreachable`;
    ///   `notAllowed` when a key is missing; `readOnly` when the file cannot be renamed.
    func run() async throws -> Result {
        do {
            return try await complete()
        } catch var error as SyncError where error.code == .diskFull {
            let isBegun = (try? DraftFile(part).isPresent()) ?? true
            error.hint =
                "Free some space, then run the command again"
                + (isBegun
                    ? ": it goes on with \(Shell.quoted(part)). To give up: "
                        + "rm \(Shell.quoted(part))*" : "")
            throw error
        }
    }

    private func complete() async throws -> Result {
        if let present = DraftFile(path).remains.first {
            throw SyncError(
                .refused, "the file already exists", path: present,
                hint: "Choose another name, or remove the file first")
        }
        let address = try RemoteAddress(url)
        let entry = try RemoteEntry(name: remoteName, url: url, options: options)
        let store = try await RemoteConnection.store(at: address, options: options)
        var report = ExchangeReport()
        if try !hasBegun(cloning: store) {
            report.add(
                try await ProgressLine.during("clone") {
                    try await begin(with: entry, store: store)
                })
        } else if !ring.keys.isEmpty {
            let opened = try Store.open(part)
            defer { try? opened.close() }
            try opened.addKeys(ring)
        }
        let replica = try StoreReplica(part)
        do {
            report.add(
                try await explainingKeys { try await pull(into: replica, from: entry) })
            try replica.close()
        } catch {
            try? replica.close()
            throw error
        }
        let show = { refused in try RefusedText(refused: refused, path: path).printTexts() }
        let copy = try await ProgressLine.during("clone") {
            try StoreReplica.completeCopy(at: part, consent: allowsSchema ? show : nil)
        }
        guard try DraftFile(part).isPresent(), rename(part, path) == 0 else {
            throw SyncError(
                .readOnly, "cannot rename \(part): \(String(cString: strerror(errno)))", path: path,
                hint: "Check the permissions of the folder, then run the command again")
        }
        if ring.keys.isEmpty { try DraftFile(path).share() }
        return Result(
            report: report, refused: copy.refused, isSchemaKnown: copy.isSchemaKnown,
            comparison: copy.comparison)
    }

    /// Whether an earlier run has written the snapshot. Removes an incomplete file.
    private func hasBegun(cloning store: StoreID) throws -> Bool {
        guard try DraftFile(part).isPresent() else {
            try DraftFile(part).remove()
            return false
        }
        do {
            let opened = try Store.open(part)
            defer { try? opened.close() }
            if opened.id == store, try opened.remotes().contains(where: { $0.url == url }) {
                return true
            }
        } catch is SyncError {
            // A file that cannot be opened is incomplete.
        }
        try DraftFile(part).remove()
        return false
    }

    private func begin(
        with entry: RemoteEntry, store: StoreID
    ) async throws -> ExchangeReport {
        let (snapshot, schemas) = try await snapshot(of: entry, store: store)
        try StoreReplica.create(
            at: part, from: snapshot.bytes, schemas: schemas, isPrivate: true
        ).close()
        let opened = try Store.open(part)
        defer { try? opened.close() }
        if !ring.keys.isEmpty { try opened.addKeys(ring) }
        try opened.add(remote: entry)
        var report = ExchangeReport()
        report.pulledCount = snapshot.envelope.transactionCount
        report.bytes = snapshot.bytes.count
        return report
    }

    private typealias Snapshot = (envelope: BatchEnvelope, bytes: [UInt8])

    private func snapshot(
        of entry: RemoteEntry, store: StoreID
    ) async throws -> (Snapshot, [SchemaRecord]) {
        try await explainingKeys {
            try await RemoteConnection.with(
                entry, store: store, replica: DirectoryRemote.observer, ring: ring
            ) { connection in
                let snapshot = try await connection.snapshot {
                    try SkippedText(problems: $0).print()
                }
                return (snapshot, try await connection.schemas(after: snapshot.envelope))
            }
        }
    }

    /// The new database is not there yet: keys come with the command, also where the packet has
    /// those from before a rotation.
    private func explainingKeys<Result>(
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch var error as SyncError where error.code == .notAllowed && !error.isDenial {
            error.hint =
                "On a replica that has the key run: synctool key share REPLICA > PACKET; "
                + "then here: synctool clone --key PACKET \(Shell.quoted(url)) "
                + Shell.quoted(path)
            throw error
        }
    }

    private func pull(
        into replica: StoreReplica, from entry: RemoteEntry
    ) async throws -> ExchangeReport {
        let progress = ProgressLine("clone")
        defer { progress.end() }
        return try await replica.exchange(
            .pull, with: entry, ring: ring, progress: { progress.show($0) })
    }
}

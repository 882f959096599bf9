import Foundation
import SyncClient
import SyncRemotes
import SyncReplica

/// Adds a remote to a store: makes a folder a remote, or joins the store at the address.
struct RemoteSetup {
    /// A key packet: the store it belongs to, and its keys.
    typealias Packet = (store: StoreID, ring: KeyRing)

    /// The path of the database, as the user typed it.
    let path: String
    let address: RemoteAddress
    let entry: RemoteEntry
    /// The keys of an encrypted remote; they are added to the store.
    let packet: Packet?
    /// Whether a file that others may read gets a key.
    let keyFile: KeyFile
    /// How to join another store; nil: another store is refused.
    let joinMethod: JoinMethod?

    private var absolute: String { StorePath.absolute(path) }

    /// - Returns: the key that was created, if the remote is encrypted and the store had none.
    /// - Throws: `refused` for a name that exists, another store without a join method, or a daemon
    ///   that would not use the remote; `cannotTrack` when the schema cannot be merged;
    ///   `unreachable`.
    func run() async throws -> StoreKey? {
        try await requireUse()
        if try needsKey() { try keyFile.require(path) }
        if try restoreEmptied() { return nil }
        // Not known any more once the rows are stated.
        let undeclared = UndeclaredText(path: path, isLate: true).line
        try await prepareRemote()
        let key = try addEntry()
        if let undeclared { try Terminal.error.line(undeclared) }
        return key
    }

    /// A daemon that takes no remotes from this file would leave the remote unused without a word.
    ///
    /// - Throws: `refused`, after the lines that the daemon's configuration needs.
    private func requireUse() async throws {
        if entry.options.manual == true { return }
        let (client, path) = (StoreClient(), absolute)
        let report: StoreReport?
        do {
            report = try await client.answer(within: StoreClient.answerMax) {
                try await client.status(path)
            }
        } catch {
            // No daemon has the store.
            return
        }
        guard let report else {
            return try Terminal.error.line(
                "whether the daemon uses this remote is not known: "
                    + client.silence(after: StoreClient.answerMax).reason)
        }
        guard report.ignoresRemotes else { return }
        try Terminal.error.line(
            "To have the daemon use this remote, its administrator writes in a file in "
                + "/etc/syncd/stores.d, and reloads it:")
        for line in entry.configuration(of: absolute) {
            try Terminal.error.line("    " + Printable.text(line))
        }
        throw SyncError(
            .refused,
            "the daemon takes no remotes from this file: it is not the daemon's own (it belongs to "
                + "another user, or others may write it)",
            path: absolute,
            hint: "To use it in commands alone: synctool remote add DB \(entry.name) "
                + "\(Shell.quoted(entry.url)) --manual")
    }

    /// Makes the folder of a remote that the store has already a remote again: somebody emptied it.
    /// The next exchange sends everything.
    private func restoreEmptied() throws -> Bool {
        let store = try Store.open(absolute)
        let (id, known) = (store.id, try store.remotes().first { $0.name == entry.name })
        try store.close()
        guard let known, known.url == entry.url, case .directory(let folder) = address,
            try DirectoryRemote.isNew(folder)
        else { return false }
        try DirectoryRemote.create(folder, store: id)
        return true
    }

    /// Ensures that the address is a remote of this store.
    private func prepareRemote() async throws {
        let store = try Store.open(absolute)
        let (id, names) = (store.id, try store.remotes().map(\.name))
        let isConfidential = try store.isConfidential()
        try store.close()
        guard !names.contains(entry.name) else {
            throw SyncError(
                .refused, "the remote '\(entry.name)' already exists", path: absolute,
                hint: "Choose another name, or run first: synctool remote remove DB \(entry.name)")
        }
        if case .directory(let folder) = address, try DirectoryRemote.isNew(folder) {
            try requirePacket(of: id)
            if isConfidential { try requireChoice() }
            // The schema is checked before anything is written to the folder.
            try checkSchema()
            return try DirectoryRemote.create(folder, store: id)
        }
        let other = try await RemoteConnection.store(at: address, options: entry.options)
        try requirePacket(of: other)
        let isSealed = try await requireEncryption(like: other)
        if isConfidential, !isSealed { try requireChoice() }
        if other != id {
            try await join(other)
        } else if joinMethod != nil {
            try Terminal.error.line(
                "  this database is a replica of that store: nothing was joined")
        }
        try checkSchema()
    }

    /// What a store encrypts elsewhere goes in the clear on request alone.
    ///
    /// - Throws: `refused` where the command says neither.
    private func requireChoice() throws {
        guard entry.options.encrypted == nil else { return }
        let add =
            "synctool remote add DB \(entry.name) \(Shell.quoted(entry.url))"
            + (joinMethod.map { " --join \($0.rawValue)" } ?? "")
        var remedy = "To encrypt: \(add) --encrypt; to send everything in the clear: "
        if case .ssh = address {
            remedy =
                "The store on the other machine is not encrypted; who may read that file reads "
                + "everything. If they may: "
        }
        throw SyncError(
            .refused,
            "the store has a key or an encrypted remote, and this one would get everything in the "
                + "clear; nothing was changed",
            path: absolute, hint: remedy + "\(add) --in-clear")
    }

    /// - Returns: whether the folder has encrypted batches.
    /// - Throws: `refused` when it has and the entry does not encrypt; `notAllowed` when none of
    ///   its batches may be read.
    private func requireEncryption(like store: StoreID) async throws -> Bool {
        guard case .directory(let folder) = address, !entry.isEncrypted else { return false }
        let remote = try DirectoryRemote(
            folder, store: store, replica: DirectoryRemote.observer)
        let catalog = try await remote.catalog(since: VersionVector())
        guard let sealed = catalog.firstSealed, let key = sealed.envelope.key else {
            // What cannot be read may be encrypted.
            if catalog.items.isEmpty, let denial = catalog.problems.denial { throw denial }
            return false
        }
        // Without the key a join says which one is missing.
        if joinMethod != nil, try ownRing()[key] == nil { return true }
        let add = "synctool remote add DB \(entry.name) \(Shell.quoted(entry.url))"
        let joining = joinMethod.map { " --join \($0.rawValue)" } ?? ""
        throw sealed.refusal(
            of: "it is not added",
            remedy:
                "With the key in the store: \(add)\(joining) --encrypt; else get the key packet, "
                + "then: \(add)\(joining) --key PACKET")
    }

    private func needsKey() throws -> Bool {
        try packet != nil || entry.isEncrypted && ownRing().keys.isEmpty
    }

    private func ownRing() throws -> KeyRing {
        let store = try Store.open(absolute)
        defer { try? store.close() }
        return try store.keyRing()
    }

    private func requirePacket(of store: StoreID) throws {
        guard let packet, packet.store != store else { return }
        throw SyncError(
            .refused, "the key packet belongs to another store (\(packet.store))",
            hint: "On a replica of the remote's store (\(store)) run: synctool key share REPLICA")
    }

    /// - Throws: `cannotTrack` when the schema has something that cannot be merged.
    private func checkSchema() throws {
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        try replica.prepare()
        try UnsyncedText(rows: replica.unsyncedRows(), path: path).print()
    }

    private func join(_ other: StoreID) async throws {
        guard let joinMethod else {
            throw SyncError(
                .refused, "\(entry.url) is a remote of another store (\(other))", path: absolute,
                hint: "To join it, add --join by-key, by-unique or separate (see: synctool help "
                    + "remote add). Or clone it: synctool clone \(Shell.quoted(entry.url)) NEWFILE")
        }
        let copy = TemporaryDatabases.join(of: absolute)
        try TemporaryDatabases.removeJoin(of: absolute)
        defer { try? TemporaryDatabases.removeJoin(of: absolute) }
        try await download(other, to: copy, joiningBy: joinMethod)
        let report = try Store.join(absolute, to: copy, by: joinMethod, keys: joinedRing())
        try Terminal.error.line(
            "\(path): joined store \(other) \(joinMethod.rawValue): "
                + "\(Plural.text(report.same, of: "row")) with a number matched; the former "
                + "history of \(Plural.text(report.dropped, of: "transaction")) was deleted")
        guard report.hasDroppedPolicies else { return }
        try Terminal.error.line(
            "  the policies of the store hold, not those that were chosen here; to see them: "
                + "synctool policy \(Shell.quoted(path))")
    }

    /// The keys after a join: those of the packet alone, since members of the store share all that
    /// they have; without one, those that opened the remote.
    private func joinedRing() throws -> KeyRing {
        let own = try ownRing()
        guard let ring = packet?.ring else { return own }
        let gone = own.keys.count { ring[$0.id] == nil }
        if gone > 0 {
            try Terminal.error.line(
                "  \(Plural.text(gone, of: "key")) of the former store "
                    + (gone == 1 ? "is" : "are") + " not in the packet, and removed")
        }
        return ring
    }

    /// Copies the other store, to match its rows.
    private func download(
        _ other: StoreID, to copy: String, joiningBy method: JoinMethod
    ) async throws {
        let ring = try packet?.ring ?? ownRing()
        do {
            try await RemoteConnection.with(
                entry, store: other, replica: DirectoryRemote.observer, ring: ring
            ) { connection in
                try await connection.copy(to: copy) { try SkippedText(problems: $0).print() }
            }
        } catch var error as SyncError
            where error.code == .notAllowed && !error.isDenial && packet == nil
        {
            error.hint =
                "On a replica that has the key run: synctool key share REPLICA > PACKET; "
                + "then here: synctool remote add DB \(entry.name) \(Shell.quoted(entry.url)) "
                + "--join \(method.rawValue) --key PACKET"
            throw error
        }
    }

    /// A store that has never sent anything signs from its first transaction on, and one that
    /// joined a signed store as that does.
    private func signIfNew() throws {
        let replica = try StoreReplica(absolute)
        defer { try? replica.close() }
        if try replica.isSigning || replica.hasSentNothing { try replica.startSigning() }
    }

    private func addEntry() throws -> StoreKey? {
        let store = try Store.open(absolute)
        defer { try? store.close() }
        if let packet { try store.addKeys(packet.ring) }
        var key: StoreKey?
        if entry.isEncrypted, try store.keyRing().keys.isEmpty { key = try store.makeKey() }
        // Before the remote is there: a command that was interrupted in between can be run again.
        if try store.remotes().isEmpty { try signIfNew() }
        try store.add(remote: entry)
        if packet != nil || key != nil { try KeyFile.warn(about: path) }
        return key
    }
}

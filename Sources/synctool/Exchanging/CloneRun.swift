import Foundation
import SyncRemotes
import SyncReplica

/// Makes a new replica from a remote. Under another name until all is merged: what was interrupted
/// goes on from there when it is run again.
struct CloneRun {
    let url: String
    /// The absolute path of the new database.
    let path: String
    let remoteName: String
    var options: RemoteEntry.Options
    let ring: KeyRing

    private var part: String { path + ".syncd-part" }

    /// - Returns: what was pulled beside the snapshot.
    func run() async throws -> ExchangeReport {
        guard !FileManager.default.fileExists(atPath: path) else {
            throw SyncError(
                .refused, "the file is there already", path: path,
                hint: "Choose another name, or remove it first")
        }
        let address = try RemoteAddress(url)
        let entry = try RemoteEntry(name: remoteName, url: url, options: options)
        let store = try await RemoteConnection.store(at: address, options: options)
        var report = ExchangeReport()
        if try !hasBegun(store) {
            report.add(try await begin(entry, store))
        }
        let replica = try StoreReplica(part)
        do {
            report.add(try await follow(replica, entry))
            try replica.close()
        } catch {
            try? replica.close()
            throw error
        }
        if let key = report.missingKey { throw BatchSeal.missingKey(key) }
        guard rename(part, path) == 0 else {
            throw SyncError(.readOnly, String(cString: strerror(errno)), path: path)
        }
        return report
    }

    /// Whether an earlier run came as far as the snapshot.
    private func hasBegun(_ store: StoreID) throws -> Bool {
        guard FileManager.default.fileExists(atPath: part) else { return false }
        do {
            let opened = try Store.open(part)
            defer { try? opened.close() }
            if opened.id == store, try opened.remotes().contains(where: { $0.url == url }) {
                return true
            }
        } catch is SyncError {
            // What cannot be opened was not finished.
        }
        for ending in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: part + ending)
        }
        return false
    }

    private func begin(_ entry: RemoteEntry, _ store: StoreID) async throws -> ExchangeReport {
        let remote = try RemoteConnection(
            entry, store: store, replica: DirectoryRemote.nobody, ring: ring)
        let snapshot: (envelope: BatchEnvelope, bytes: [UInt8])
        do {
            snapshot = try await remote.snapshot()
        } catch var error as SyncError {
            await remote.disconnect()
            if error.code == .notAllowed {
                error.hint =
                    "Ask somebody who has it for: synctool key share, then run: "
                    + "synctool clone --key FILE \(Shell.quoted(url)) \(Shell.quoted(path))"
            }
            throw error
        }
        await remote.disconnect()
        try StoreReplica.create(at: part, from: snapshot.bytes).close()
        let opened = try Store.open(part)
        defer { try? opened.close() }
        if !ring.keys.isEmpty { try opened.addKeys(ring) }
        try opened.add(remote: entry)
        var report = ExchangeReport()
        report.pulledCount = snapshot.envelope.transactionCount
        report.bytes = snapshot.bytes.count
        return report
    }

    private func follow(
        _ replica: StoreReplica, _ entry: RemoteEntry
    ) async throws -> ExchangeReport {
        let remote = try RemoteConnection(
            entry, store: replica.storeID, replica: replica.replicaID, ring: ring)
        let progress = ProgressLine("clone")
        do {
            let report = try await remote.exchange(.pull, replica) { progress.show($0) }
            progress.end()
            await remote.disconnect()
            return report
        } catch {
            progress.end()
            await remote.disconnect()
            throw error
        }
    }
}

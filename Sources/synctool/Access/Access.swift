import Foundation
import SyncClient
import SyncCore

/// Chooses how a command accesses a store: through the daemon, or through the file itself.
///
/// `--direct` requires the file and `--socket` requires a daemon at that socket. Without either,
/// the daemon is used when it runs and has the store, or when the command adds the store to it;
/// otherwise, and where the daemon may not read the file, the file is used. Only a successful
/// connection counts: a daemon that was killed leaves its socket file behind.
enum Access {
    /// The purpose of the access.
    enum Purpose {
        /// To use a store that is already tracked.
        case using
        /// To track a database, which adds it to the daemon.
        case tracking
    }

    /// - Throws: `unreachable`, `unknownStore` with `--socket`; `unreachable` also when a daemon
    ///   does not answer within ``StoreClient/answerMax``; what the daemon reports.
    static func open(
        _ typed: String, using options: AccessOptions, for purpose: Purpose = .using
    ) async throws -> any StoreAccess {
        if options.isDirect { return FileAccess(path: typed, reason: .requested) }
        let path = StorePath.absolute(typed)
        let client = StoreClient(socket: options.socket)
        let daemon = DaemonAccess(client: client, path: path)
        let summaries: [StoreSummary]?
        do {
            summaries = try await client.answer(within: StoreClient.answerMax) {
                try await client.list()
            }
        } catch let error as SyncError where error.code == .unreachable && options.socket == nil {
            return FileAccess(path: typed, reason: .noDaemon)
        } catch let error as SyncError where error.code == .notAllowed && options.socket == nil {
            return FileAccess(path: typed, reason: .daemonNotPermitted)
        }
        guard let summaries else {
            let isFree = options.socket == nil
            throw client.silence(
                after: StoreClient.answerMax,
                alternative: isFree ? ". Without it, from the file: --direct" : "")
        }
        let known = summaries.first { $0.path.hasBytes(of: path) }
        if let error = known?.error, error.code == .notAllowed, purpose == .using,
            options.socket == nil, access(path, R_OK) == 0
        {
            return FileAccess(path: typed, reason: .notServed(error))
        }
        if known != nil || purpose == .tracking { return daemon }
        guard options.socket != nil else {
            return FileAccess(path: typed, reason: .unknownToDaemon)
        }
        // With --socket the daemon must have the store: this reports why it does not.
        _ = try await client.status(path)
        return daemon
    }

    /// The daemon, for commands that are about all of its stores.
    ///
    /// - Throws: ``SyncError`` `unreachable`.
    static func daemon(using options: AccessOptions) async throws -> DaemonStores {
        let client = StoreClient(socket: options.socket)
        _ = try await client.list(within: StoreClient.answerMax)
        return DaemonStores(client: client)
    }
}

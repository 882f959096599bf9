import SyncClient
import SyncCore

/// Decides who answers a command: the daemon, or the file itself.
///
/// `--direct` insists on the file and `--socket` on a daemon there. Without either, the daemon
/// answers when it runs and has the store, or can be asked to take it; else the file does. That
/// nobody listens is found by connecting: a socket file that a killed daemon left behind does not
/// count.
enum Access {
    /// What a command is going to do, where that makes a difference.
    enum Purpose {
        /// The store is tracked already, or the command says that it is not.
        case using
        /// The daemon takes over a database that it does not know yet.
        case tracking
    }

    static func open(
        _ typed: String, _ options: CommonOptions, for purpose: Purpose = .using
    ) async throws -> any StoreAccess {
        if options.direct { return FileAccess(path: typed) }
        let path = StorePath.absolute(typed)
        let client = StoreClient(socket: options.socket)
        let daemon = DaemonAccess(client: client, path: path)
        do {
            let known = try await client.list().contains { $0.path == path }
            if known || purpose == .tracking { return daemon }
            guard options.socket != nil else { return FileAccess(path: typed) }
            // A daemon that was named has to answer for the store: let it say what is wrong.
            _ = try await client.status(path)
            return daemon
        } catch let error as SyncError where error.code == .unreachable && options.socket == nil {
            return FileAccess(path: typed)
        }
    }

    /// The daemon, for commands that are about all of its stores.
    ///
    /// - Throws: ``SyncError`` `unreachable`.
    static func daemon(_ options: CommonOptions) async throws -> Daemon {
        let client = StoreClient(socket: options.socket)
        _ = try await client.list()
        return Daemon(client: client)
    }
}

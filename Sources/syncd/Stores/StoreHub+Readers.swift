import Glibc
import SyncCore
import SyncStorage
import Varlink

/// Subscriptions of clients that may not read the store, or not any more.
///
/// Checked when a file is opened, before each page of history, and before commits are distributed
/// when ``ReaderCheck`` says so: what is committed after the owner changed the mode of the file
/// does not reach a client that has lost the permission.
extension StoreHub {
    /// Whether the client of a subscription could open this file, and it is at the path.
    private func mayRead(_ file: FileIdentity, by subscriber: Subscriber) -> Bool {
        FilePermission.file(at: path, for: .read, peer: subscriber.stream.peer) == file
    }

    /// Those of the present subscribers that may not read this file.
    func excluded(from file: FileIdentity) -> [Subscriber] {
        var known: [Reader: Bool] = [:]
        return state.subscribers.filter { subscriber in
            let reader = Reader(subscriber.stream.peer)
            let isAllowed = known[reader] ?? mayRead(file, by: subscriber)
            known[reader] = isAllowed
            return !isAllowed
        }
    }

    /// A user with their groups: what decides about a permission.
    private struct Reader: Hashable {
        let uid: UInt32
        let groups: [UInt32]

        init(_ peer: PeerIdentity) { (uid, groups) = (peer.uid, [peer.gid] + peer.groups) }
    }

    /// Ends a subscription whose client may not read the store: as if there were none.
    func dismiss(_ subscriber: Subscriber) {
        let error = SyncError(
            .unknownStore,
            "the file at the path may not be read by uid \(subscriber.stream.peer.uid)",
            path: path, hint: "Ask its owner for read permission, then subscribe again")
        subscriber.stream.fail(error.varlinkError)
    }

    /// Ends the subscriptions of clients that could not open the file any more.
    ///
    /// - Parameter whenDue: only when the permissions may have changed since the last time.
    func dismissExcluded(whenDue: Bool = false) {
        if whenDue, !readers.withLock({ $0.isDue(path) }) { return }
        guard !state.subscribers.isEmpty, let opened = state.opened,
            FileIdentity(path: path) == opened.file
        else { return }
        let excluded = excluded(from: opened.file)
        // A file that is replaced meanwhile is checked when it is opened.
        guard !excluded.isEmpty, FileIdentity(path: path) == opened.file else { return }
        for subscriber in excluded {
            remove(subscriber)
            dismiss(subscriber)
        }
    }

    /// Ends one subscription if its client could not open the file any more.
    ///
    /// - Returns: whether it did.
    func dismissIfExcluded(_ subscriber: Subscriber, from opened: OpenedStore) -> Bool {
        guard FileIdentity(path: path) == opened.file, !mayRead(opened.file, by: subscriber),
            FileIdentity(path: path) == opened.file
        else { return false }
        remove(subscriber)
        dismiss(subscriber)
        return true
    }
}

import Foundation
import Glibc
import SyncCore
import SyncStorage
import Synchronization

/// Whose the consumers of a store are. Purging waits for a consumer; who acknowledges for one of
/// another program, or registers it again with a short lease, releases history that it holds back.
///
/// Policy
/// - The user who registers a consumer through the socket owns it. Its owner, the owner of the
///   store's file, root and the daemon's user may acknowledge for it and register it again; nobody
///   else, whatever they may do with the file.
/// - One whose owner is not known becomes the property of the first other user who registers or
///   acknowledges for it: one that was registered in the file itself, or before the daemon's state
///   was lost, or before the file was replaced by another one. Refusing instead would stop all
///   programs that run as other users than the owner of the file, until somebody helps.
/// - The name of a consumer that was removed is free.
///
/// A file of the state directory for each database file, by device, inode and time of birth, so
/// that a move keeps it and the owner of another file cannot write it. Whichever process of the
/// daemon serves the store reads it.
///
/// Invariant: the file is whole at any moment, and has an owner before the consumer is registered.
final class ConsumerOwners: Sendable {
    private struct Content: Codable {
        var version = 1
        var owners: ExactMap<UInt32> = [:]
    }

    private struct State {
        /// That ``content`` was read from, or written to; nil: none yet.
        var path: String?
        var content = Content()
    }

    /// Who calls.
    struct Caller {
        let uid: UInt32
        /// The owner of the store's file; nil when it is not known.
        let fileOwner: UInt32?

        /// May use each consumer, and need not own it.
        fileprivate var isPrivileged: Bool {
            uid == 0 || uid == geteuid() || uid == fileOwner
        }
    }

    /// How many consumers of one store a user may own. More, and a user who may only read the store
    /// fills the daemon's disk.
    static let perUserMax = 1000

    private let directory: String
    private let perUserMax: Int
    private let state = Mutex(State())

    /// - Parameter directory: the state directory.
    init(directory: String, perUserMax: Int = ConsumerOwners.perUserMax) {
        (self.directory, self.perUserMax) = (directory, perUserMax)
    }

    /// Runs `body`, which registers the consumer, for its owner or a new one. One registration of a
    /// store at a time: both wait for its write lock.
    ///
    /// - Throws: `notAllowed` when the consumer is another user's; `refused` when the owner cannot
    ///   be recorded, or has too many; what `body` throws.
    func register(
        _ name: String, of store: Store, for caller: Caller, perform body: () throws -> Void
    ) throws {
        try state.withLock { state in
            load(store, into: &state)
            let known = state.content.owners[name]
            if known != caller.uid {
                let present = try ExactSet(store.consumers().map(\.name))
                if let known, present.contains(name) {
                    try require(caller, toUse: name, of: known, in: store)
                } else if !present.contains(name) || !caller.isPrivileged {
                    try record(caller, of: name, among: present, in: &state, for: store)
                }
            }
            try body()
        }
    }

    /// Runs `body`, which acknowledges for the consumer.
    ///
    /// - Throws: as ``register(_:of:for:perform:)``.
    func acknowledge(
        _ name: String, of store: Store, for caller: Caller, perform body: () throws -> Void
    ) throws {
        let known = state.withLock { state in
            load(store, into: &state)
            return state.content.owners[name]
        }
        if let known, known != caller.uid {
            let present = try ExactSet(store.consumers().map(\.name))
            if present.contains(name) { try require(caller, toUse: name, of: known, in: store) }
        }
        try body()
        guard known == nil, !caller.isPrivileged else { return }
        try state.withLock { state in
            load(store, into: &state)
            guard state.content.owners[name] == nil else { return }
            let present = try ExactSet(store.consumers().map(\.name))
            try record(caller, of: name, among: present, in: &state, for: store)
        }
    }

    /// The consumer was removed.
    func forget(_ name: String, of store: Store) {
        state.withLock { state in
            load(store, into: &state)
            guard state.content.owners.removeValue(forKey: name) != nil else { return }
            // If that fails: a name that no consumer has is free all the same.
            try? write(state)
        }
    }

    /// The store is not tracked any more.
    func remove(for file: FileIdentity) {
        state.withLock { state in
            unlink(path(for: file))
            state = State()
        }
    }

    // MARK: Under the lock

    private func require(
        _ caller: Caller, toUse name: String, of owner: UInt32, in store: Store
    ) throws {
        guard !caller.isPrivileged else { return }
        throw SyncError(
            .notAllowed, "the consumer '\(name.prefix(200))' belongs to uid \(owner)",
            path: store.path,
            hint: "Choose another name for your own. Its owner, the owner of the database and root "
                + "may acknowledge for it; to free the name: synctool consumers remove DB NAME")
    }

    private func record(
        _ caller: Caller, of name: String, among present: ExactSet, in state: inout State,
        for store: Store
    ) throws {
        let uid = caller.uid
        var new = state.content.owners.filter { present.contains($0.key) }
        guard new.count(where: { $0.value == uid }) < perUserMax else {
            throw SyncError(
                .refused, "uid \(uid) has \(perUserMax) consumers of this store already",
                path: store.path, hint: "Remove some: synctool consumers remove DB NAME")
        }
        new[name] = uid
        let former = state.content
        state.content.owners = new
        do {
            try write(state)
        } catch {
            state.content = former
            throw SyncError(
                .refused,
                "the owner of the consumer cannot be recorded: \(error.localizedDescription)",
                path: state.path,
                hint: "Check the free space and the permissions of the state directory")
        }
    }

    private func path(for file: FileIdentity) -> String {
        "\(directory)/\(file.device)-\(file.inode)-\(file.birth).consumers"
    }

    private func load(_ store: Store, into state: inout State) {
        let path = path(for: store.file)
        guard state.path != path else { return }
        let data = FileManager.default.contents(atPath: path) ?? Data()
        // What is damaged is lost.
        state = State(
            path: path,
            content: (try? JSONDecoder().decode(Content.self, from: data)) ?? Content())
    }

    private func write(_ state: State) throws {
        guard let path = state.path else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try StateFile.replace(path, with: try encoder.encode(state.content))
    }
}

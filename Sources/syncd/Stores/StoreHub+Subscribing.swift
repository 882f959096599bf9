import SyncClient
import SyncCore
import SyncStorage
import Varlink

/// Subscriptions as their clients start and change them. Calls that ask the store block: on the
/// pool.
extension StoreHub {
    /// Objects that one subscription may hold. Each costs some 100 bytes.
    static let heldMax = 100_000

    /// Starts a subscription: first reply, then what was missed, then what happens.
    ///
    /// - Parameter opened: the store as the caller was checked for it.
    /// - Throws: ``SyncError`` for a position or an entity that the store does not have.
    func subscribe(
        _ options: SubscriptionOptions, to opened: OpenedStore, stream: ReplyStream
    ) throws {
        let worker = environment.isWorker ? environment.served : nil
        let subscriber = Subscriber(options, stream: stream, worker: worker)
        if let after = options.after { try opened.store.check(after) }
        try checkNames(of: options, in: opened.store)
        try checkCount(options.hold.count)
        let added = state.add(subscriber, options: options, generation: opened.generation)
        guard let head = added else { throw isBeingOpened }
        let held: [HeldObject]
        do {
            held = try options.hold.map { try opened.store.held($0) }
        } catch {
            remove(subscriber)
            throw error
        }
        // Called on the event loop, which must not wait for the lock of a store with many
        // subscriptions.
        let user = stream.peer.uid
        stream.onClose { [weak self] in
            self?.submit(for: user) { [weak self] in self?.remove(subscriber) }
        }
        stream.onDrained { [weak self] in
            self?.submit(for: user) { [weak self] in self?.drained(subscriber) }
        }
        stream.send(
            SubscriptionReplies.first(
                subscriber, token: options.after ?? head, head: head, held: held))
        CatchUp(subscriber, of: self).start()
    }

    func remove(_ subscriber: Subscriber) { state.remove(subscriber) }

    /// The subscription of this name, if it is one of the caller's user.
    func subscriber(named name: String, of peer: PeerIdentity) -> Subscriber? {
        state.subscribers.first { $0.name == name && $0.stream.peer.uid == peer.uid }
    }

    /// Adds to what a subscription holds; later changes come as notices.
    ///
    /// - Returns: how the objects are now.
    /// - Throws: ``SyncError`` for too many objects, or an entity that the store does not have.
    func hold(
        _ names: [ObjectName], for subscriber: Subscriber, in store: Store
    ) throws -> [HeldObject] {
        try checkCount(names.count)
        let isHeld = state.hold(
            names.map(\.folded), for: subscriber, heldMax: Self.heldMax)
        guard isHeld else { throw Self.tooManyHeld }
        do {
            return try names.map { try store.held($0) }
        } catch {
            release(names, for: subscriber)
            throw error
        }
    }

    /// - Parameter names: nil: all.
    func release(_ names: [ObjectName]?, for subscriber: Subscriber) {
        state.release(names?.map(\.folded), for: subscriber)
    }

    private func checkCount(_ count: Int) throws {
        guard count <= Self.heldMax else { throw Self.tooManyHeld }
    }

    private static var tooManyHeld: SyncError {
        SyncError(
            .invalidArgument, "a subscription holds at most \(heldMax) objects",
            hint: "Subscribe to the entity instead")
    }

    private func checkNames(of options: SubscriptionOptions, in store: Store) throws {
        guard !(options.filter.entities.isEmpty && options.filter.properties.isEmpty) else {
            return
        }
        var query = HistoryQuery()
        query.entities = options.filter.entities
        query.properties = options.filter.properties
        query.limit = 0
        try store.forEachTransaction(matching: query) { _ in false }
    }
}

// MARK: Slow clients

extension StoreHub {
    /// A catch-up found that another file is at the path than the one that is open.
    func waitForStore(_ subscriber: Subscriber, after opened: OpenedStore) {
        if state.waitForStore(subscriber, generation: opened.generation) {
            reopenLater()
        } else {
            CatchUp(subscriber, of: self).start()
        }
    }

    /// A catch-up found its client's queue full.
    func waitForDrain(_ subscriber: Subscriber) {
        if !state.waitForDrain(subscriber) { CatchUp(subscriber, of: self).start() }
    }

    /// The client has emptied its queue.
    func drained(_ subscriber: Subscriber) {
        // One notice for each time; it is sent before the catch-up can send anything.
        if let position = state.noteDrained(subscriber) {
            subscriber.stream.send(SubscriptionReplies.notice(.lagged(position)))
            log.info("a reader lagged", metadata: ["pid": "\(subscriber.stream.peer.pid)"])
        }
        if state.resumeDrained(subscriber) { CatchUp(subscriber, of: self).start() }
    }
}

extension Store {
    /// How an object is now.
    fileprivate func held(_ name: ObjectName) throws -> HeldObject {
        if let object = try object(named: name) {
            return HeldObject(object: object, isPresent: true)
        }
        let object = ObjectID(store: id, entity: name.entity, key: name.key)
        return HeldObject(object: object, isPresent: false)
    }
}

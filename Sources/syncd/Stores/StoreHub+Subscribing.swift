import SyncClient
import SyncCore
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
        _ options: SubscriptionOptions, _ opened: Opened, _ stream: ReplyStream
    ) throws {
        let subscriber = Subscriber(stream, options)
        if let after = options.after { try opened.store.check(after) }
        try checkEntities(of: options, opened.store)
        try checkCount(options.hold.count)
        let head: Token = try state.withLock { state in
            guard case .open(let present) = state.phase,
                present.generation == opened.generation, let head = state.head
            else {
                throw SyncError(.busy, "the store is being opened", path: path)
            }
            state.fanOut.add(subscriber, at: options.after ?? head)
            if let index = state.fanOut.index(subscriber) {
                state.fanOut.hold(options.hold.map(HeldName.init), at: index)
            }
            return head
        }
        let held: [HeldObject]
        do {
            held = try options.hold.map { try opened.store.held($0) }
        } catch {
            remove(subscriber)
            throw error
        }
        stream.onClose { [weak self] in self?.remove(subscriber) }
        stream.onDrained { [weak self] in self?.drained(subscriber) }
        stream.send(
            SubscriptionReplies.first(
                subscriber, token: options.after ?? head, head: head, held: held))
        CatchUp(self, subscriber).start()
    }

    func remove(_ subscriber: Subscriber) { state.withLock { $0.fanOut.remove(subscriber) } }

    /// The subscription of this name, if it is one of the caller's user.
    func subscriber(named name: String, _ peer: PeerIdentity) -> Subscriber? {
        state.withLock { state in
            state.fanOut.entries.first {
                $0.subscriber.name == name && $0.subscriber.stream.peer.uid == peer.uid
            }?.subscriber
        }
    }

    /// Adds to what a subscription holds, and says how it is: notices tell what happens afterwards.
    func hold(
        _ names: [HistoryQuery.ObjectName], _ subscriber: Subscriber, _ store: Store
    ) throws -> [HeldObject] {
        try checkCount(names.count)
        try state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return }
            try checkCount(state.fanOut[index].held.count + names.count)
            state.fanOut.hold(names.map(HeldName.init), at: index)
        }
        do {
            return try names.map { try store.held($0) }
        } catch {
            release(names, subscriber)
            throw error
        }
    }

    /// - Parameter names: nil: all.
    func release(_ names: [HistoryQuery.ObjectName]?, _ subscriber: Subscriber) {
        state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return }
            state.fanOut.release(names?.map(HeldName.init), at: index)
        }
    }

    private func checkCount(_ count: Int) throws {
        guard count <= Self.heldMax else {
            throw SyncError(
                .invalidArgument, "a subscription holds at most \(Self.heldMax) objects",
                hint: "Subscribe to the entity instead")
        }
    }

    private func checkEntities(of options: SubscriptionOptions, _ store: Store) throws {
        guard !options.filter.entities.isEmpty else { return }
        var query = HistoryQuery()
        query.entities = options.filter.entities
        query.limit = 0
        try store.forEachTransaction(query) { _ in false }
    }
}

// MARK: Slow clients

extension StoreHub {
    func isCurrent(_ generation: Int) -> Bool {
        if case .open(let opened) = state.withLock({ $0.phase }) {
            opened.generation == generation
        } else {
            false
        }
    }

    /// A catch-up found that another file is at the path than the one that is open.
    func waitForStore(_ subscriber: Subscriber, _ generation: Int) {
        let isCurrent = state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return false }
            if case .open(let opened) = state.phase, opened.generation != generation {
                return false
            }
            state.fanOut[index].phase = .waitingForStore
            return true
        }
        if isCurrent { reopenLater() } else { CatchUp(self, subscriber).start() }
    }

    /// A catch-up found its client over the bound.
    func waitForDrain(_ subscriber: Subscriber) {
        let hasDrained = state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return false }
            // Its client may have read everything since the reply was refused.
            if state.fanOut[index].hasDrained { return true }
            if state.fanOut[index].phase == .catchingUp { state.fanOut[index].phase = .draining }
            return false
        }
        if hasDrained { CatchUp(self, subscriber).start() }
    }

    /// On the event loop: the client has read what waited.
    func drained(_ subscriber: Subscriber) {
        let lagged: Token? = state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return nil }
            state.fanOut[index].hasDrained = true
            return state.fanOut[index].phase == .lagging ? state.fanOut[index].position : nil
        }
        // One notice for each time; it is sent before the catch-up can send anything.
        if let lagged {
            subscriber.stream.send(SubscriptionReplies.notice(.lagged(lagged)))
            log.info("a reader lagged", metadata: ["pid": "\(subscriber.stream.peer.pid)"])
        }
        let mayGoOn = state.withLock { state in
            guard let index = state.fanOut.index(subscriber) else { return false }
            let phase = state.fanOut[index].phase
            guard phase == .draining || phase == .lagging else { return false }
            state.fanOut[index].phase = .catchingUp
            return true
        }
        if mayGoOn { CatchUp(self, subscriber).start() }
    }
}

extension Store {
    /// How an object is now.
    fileprivate func held(_ name: HistoryQuery.ObjectName) throws -> HeldObject {
        if let object = try object(named: name) {
            return HeldObject(object: object, isPresent: true)
        }
        let object = ObjectID(store: id, entity: name.entity, key: name.key)
        return HeldObject(object: object, isPresent: false)
    }
}

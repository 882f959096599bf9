import SyncCore
import Synchronization
import Varlink

/// The stream of a store's transactions and notices: each once, in order, through restarts of the
/// daemon.
///
/// When the connection is lost it is made again, with a growing delay, and the stream continues
/// after the last token that was received: the daemon replays what was missed from history. The
/// stream ends with an error that waiting does not mend: `historyExpired` or `foreignHistory`
/// (resync: read all objects, then subscribe again), `unknownStore`, `notAllowed`. A daemon that
/// does not answer at the first attempt is `unreachable` at once, a store that cannot be read then
/// `busy`; once the stream has begun it goes on when that is over.
///
/// A large transaction arrives in parts and is joined up to ``SubscriptionOptions/joining``; beyond
/// that its parts reach the reader, who has processed it with the last of them. The position moves
/// with the last part. What belongs to held objects in it comes after it.
///
/// Only one iterator can be made. Leaving the loop, or cancelling its task, ends the subscription.
public final class Subscription: AsyncSequence, Sendable {
    /// A notice of the store.
    public typealias Element = Notice

    /// Invariants, guarded by the mutex: `position` never moves back within one store; `held` is
    /// what the daemon holds for this client, or will after the next connect; `name` is set while
    /// connected; `waiting` are notices of the transaction whose parts come.
    struct State {
        var position: Token?
        var held: Set<ObjectName>
        var name: String?
        var hasBegun = false
        var joiner: TransactionJoiner
        var waiting: [Notice] = []
    }

    let store: String
    let client: StoreClient
    let options: SubscriptionOptions
    let state: Mutex<State>

    init(to store: String, of client: StoreClient, options: SubscriptionOptions) {
        self.client = client
        self.store = store
        self.options = options
        state = Mutex(
            State(
                position: options.after, held: options.hold,
                joiner: TransactionJoiner(options.joining)))
    }

    /// The position after the last notice that was received.
    public var position: Token? { state.withLock { $0.position } }

    /// Holds more objects: their deletion, change and return come as notices of this stream.
    ///
    /// - Returns: how they are now.
    /// - Throws: ``SyncError``: `unreachable` while the daemon is away; they are held nevertheless
    ///   once the stream is connected again.
    @discardableResult
    public func hold(_ objects: [ObjectName]) async throws -> [HeldObject] {
        let name = state.withLock { state in
            state.held.formUnion(objects)
            return state.name
        }
        guard let name, let store = position?.store else {
            throw SyncError(.unreachable, "the subscription is not connected", path: client.socket)
        }
        let answer = try await client.call(
            "Hold",
            with: [
                "subscription": .string(name),
                "objects": .array(objects.map { .string($0.path) }),
            ])
        return try JSONReader(answer, of: "the answer to Hold").array("held")
            .map { try HeldObject(json: $0, store: store) }
    }

    /// Releases held objects; nil: all.
    ///
    /// - Throws: ``SyncError``: the daemon's error, or `unreachable`.
    public func release(_ objects: [ObjectName]? = nil) async throws {
        let name = state.withLock { state in
            if let objects { state.held.subtract(objects) } else { state.held = [] }
            return state.name
        }
        guard let name else { return }
        var parameters: JSONObject = ["subscription": .string(name)]
        parameters["objects"] = objects.map { .array($0.map { .string($0.path) }) }
        _ = try await client.call("Release", with: parameters)
    }

    /// Walks through the notices.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// The parameters of the call that continues the stream.
    func parameters() -> JSONObject {
        var options = self.options
        state.withLock { state in
            options.after = state.position
            options.hold = state.held
        }
        var object = options.jsonObject
        object["store"] = .string(store)
        return object
    }

    /// Takes a reply: moves the position.
    ///
    /// - Returns: the notices for the reader.
    /// - Throws: ``SyncError`` with code `badData`.
    func accept(_ object: JSONObject) throws -> [Notice] {
        let reply = try SubscriptionReply(object, store: position?.store)
        return state.withLock { state in
            var notices: [Notice] = []
            if let name = reply.name {
                state.name = name
                if !state.hasBegun, let token = reply.token ?? reply.head {
                    state.hasBegun = true
                    notices.append(.began(token))
                }
            }
            if let token = reply.token { state.position = token }
            if let transaction = reply.transaction.flatMap({ state.joiner.take($0) }) {
                notices.append(.transaction(transaction))
            }
            guard reply.token == nil else {
                defer { state.waiting = [] }
                return notices + state.waiting + reply.notices
            }
            state.waiting += reply.notices.filter(\.isAboutHeldObject)
            return notices + reply.notices.filter { !$0.isAboutHeldObject }
        }
    }

    func lostConnection() {
        state.withLock { state in
            state.name = nil
            state.joiner.restart()
            state.waiting = []
        }
    }
}

extension StoreClient {
    /// Subscribes to a store.
    public func subscribe(_ store: String, options: SubscriptionOptions) -> Subscription {
        Subscription(to: store, of: self, options: options)
    }

    /// Subscribes to all transactions of a store.
    ///
    /// - Parameter after: begin with what was missed since this position; nil: with what is
    ///   committed from now on.
    public func subscribe(_ store: String, after: Token? = nil) -> Subscription {
        subscribe(store, options: SubscriptionOptions(after: after))
    }
}

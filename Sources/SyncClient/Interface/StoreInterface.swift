/// The varlink interface `org.syncd.Store`: its name and its description.
///
/// The description is the contract of the wire: `docs/protocol.md` explains it, the daemon answers
/// `GetInterfaceDescription` with it. An interface is never versioned: it grows by nullable
/// fields and by new methods; whatever breaks a caller gets a new name.
public enum StoreInterface {
    /// The interface's name.
    public static let name = "org.syncd.Store"

    /// A method's full name, as a call carries it.
    public static func method(_ method: String) -> String { name + "." + method }

    /// The interface in varlink's definition language.
    public static let description = """
        \(types)
        \(storeMethods)
        \(historyMethods)
        \(subscriptionMethods)
        \(consumerMethods)
        \(errors)
        """

    private static let types = """
        # Persistent history of SQLite databases, and notices of their commits.
        #
        # A store is named by the path of its database file, or by its store id. A caller sees a
        # store only if its uid and groups could open the file, and changes one only if they could
        # write it. Tokens are opaque positions in the history of one store. Values of the database:
        # NULL, numbers and text as JSON has them; blobs are {"blob": "BASE64"}; integers beyond
        # 2^53 {"int": "DIGITS"}; reals that JSON cannot say {"real": "inf"}.
        interface org.syncd.Store

        # The process that wrote a transaction, as far as it said so.
        type Process (pid: int, name: ?string)

        # Why a change happened, when no statement named the object: a foreign-key action or a
        # renumbering (object: the other one), REPLACE, or a merge of another replica's
        # transactions.
        type Cause (kind: (cascade, replace, renumbered, merge), object: ?string, incarnation: ?int)

        # What one transaction did to one object ("Album/348"). properties: those that an update
        # changed. tombstone: values kept of a deleted object, oldValues: values before an update,
        # by property, where they are kept. incarnation: number of the transaction that created the
        # object; absent: it was there before history.
        type Change (
          entity: string,
          object: string,
          kind: (insert, update, delete),
          properties: []string,
          tombstone: ?object,
          oldValues: ?object,
          cause: ?Cause,
          incarnation: ?int
        )

        # One commit. number: ascending, with gaps, never used twice. timestamp: ISO 8601 in UTC.
        # origin: "local", or the replica that wrote it first, with its number and time there.
        # flags: coalesced, recovered, remote, repair.
        type Transaction (
          number: int,
          token: string,
          timestamp: string,
          author: ?string,
          context: ?string,
          process: ?Process,
          origin: string,
          flags: []string,
          changes: []Change,
          originNumber: ?int,
          originTimestamp: ?string
        )

        # Which part of a history; everything given must hold. after: strictly after this token.
        # upTo: up to it. since, until: wall time, ISO 8601. entities, object, kinds and properties
        # choose changes; transactions keep the matching ones and those without any are left out.
        type Query (
          after: ?string,
          upTo: ?string,
          since: ?string,
          until: ?string,
          authors: ?[]string,
          excludedAuthors: ?[]string,
          context: ?string,
          entities: ?[]string,
          object: ?string,
          kinds: ?[]string,
          properties: ?[]string,
          limit: ?int,
          reverse: ?bool
        )

        # What a subscription wants; everything given must hold. held: only changes of objects that
        # it holds.
        type Filter (
          entities: ?[]string,
          kinds: ?[]string,
          properties: ?[]string,
          authors: ?[]string,
          excludedAuthors: ?[]string,
          held: ?bool
        )

        # A registered reader of history. acknowledged: number of the last transaction it is done
        # with, 0: none. lease: seconds it may stay silent before purging passes it; absent: for
        # ever.
        type Consumer (
          name: string,
          kind: (reader, writer, peer),
          acknowledged: int,
          lease: ?int,
          lastSeen: string,
          created: string,
          lapsed: bool
        )

        # A store of this daemon. state: open; missing: its file is gone; failed: see error. token:
        # the end of its history.
        type Store (
          path: string,
          state: (open, missing, failed),
          id: ?string,
          replica: ?string,
          epoch: ?int,
          token: ?string,
          subscribers: int,
          error: ?Failure
        )

        # What is wrong: an error of this interface with its name, and what to do next.
        type Failure (code: string, reason: string, hint: ?string, path: ?string)

        # A remote of a store. lastSync: absent: not since the daemon started. behindSince: since
        # when something waits to be sent; absent: nothing does. error: why the last time failed.
        type Remote (
          name: string,
          url: string,
          state: (idle, syncing, failed),
          lastSync: ?string,
          behindSince: ?string,
          error: ?string
        )

        # A table of a tracked database. outcome: tracked; skipped: left alone, with the reason and
        # the remedy.
        type Table (name: string, outcome: string, reason: ?string, hint: ?string)

        """

    private static let storeMethods = """
        # Tracks a database: installs capture in it, opens it and remembers it. A tracked one is
        # only opened. entities: only these tables; absent: all. undo: entities that keep the old
        # values of updates ("*": all). keep: "all" (default) or "none" of a deleted object's
        # values. repaired: what was wrong with a store whose tables had been dropped, and what of
        # it is lost.
        method Track(path: string, entities: ?[]string, undo: ?[]string, keep: ?string)
          -> (store: Store, tables: []Table, repaired: ?[]string)

        # Stops watching a store and removes every trace of capture and history from it. forget:
        # leave the database as it is, only forget it here (also when its file is gone). left:
        # objects named syncd_... that are of somebody else's making and stay.
        method Untrack(store: string, forget: ?bool) -> (left: ?[]string)

        # The stores that the caller may see.
        method List() -> (stores: []Store)

        # One store with all that is known of it. pending: log rows not digested yet.
        method Status(store: string) -> (
          store: Store,
          pending: int,
          databaseBytes: int,
          walBytes: int,
          entities: []Table,
          consumers: []Consumer,
          findings: []string,
          remotes: ?[]Remote
        )

        # Compares triggers and schema with what capture installed. findings: what is wrong, empty
        # when all is well.
        method Verify(store: string) -> (tables: []Table, findings: []string)

        """

    private static let historyMethods = """
        # The token at the end of a store's history now.
        method Head(store: string) -> (token: string)

        # Transactions, oldest first. With more: all of them, in several replies; without: the first
        # page, and next, the token to go on after, when there is more.
        method History(store: string, query: ?Query) -> (transactions: []Transaction, next: ?string)

        # How many transactions and changes a query finds.
        method Count(store: string, query: ?Query) -> (transactions: int, changes: int)

        # Deletes history strictly before a token; absent: all that no live consumer needs. Refuses
        # what a consumer needs (StillNeeded), unless force.
        method Purge(store: string, before: ?string, force: ?bool)
          -> (transactions: int, changes: int, token: string)

        """

    private static let subscriptionMethods = """
        # An object that a subscription holds, as it is now. incarnation: of the present object.
        type Held (object: string, present: bool, incarnation: ?int)

        # Who changed a held object, and when.
        type By (
          number: int,
          token: string,
          timestamp: string,
          author: ?string,
          context: ?string,
          process: ?Process,
          origin: string
        )

        # A held object was deleted; stays held, until replaced or released.
        type Gone (object: string, incarnation: ?int, tombstone: ?object, cause: ?Cause, by: ?By)

        # A held object changed.
        type Changed (
          object: string,
          incarnation: ?int,
          properties: []string,
          oldValues: ?object,
          by: By
        )

        # The key of a held object came back as another object.
        type Replaced (object: string, incarnation: ?int, by: ?By)

        # Exactly one is set. lagged: the reader was too slow for its queue; what follows comes from
        # history, nothing is lost (token: the last position sent). storeReplaced: another file, or
        # an older state of this one, is at the path: read the objects anew, the stream goes on at
        # token. storeRemoved: the file is gone; storeReturned: it is back. schemaChanged: tables or
        # columns changed. historyPurged: history before token is gone.
        type Notice (
          gone: ?Gone,
          changed: ?Changed,
          replaced: ?Replaced,
          lagged: ?(token: string),
          storeReplaced: ?(path: string, store: string, token: string),
          storeRemoved: ?(path: string),
          storeReturned: ?(path: string, token: string),
          schemaChanged: ?(entities: []string),
          historyPurged: ?(token: string)
        )

        # Streams a store's transactions, each once, in order; call it with more. after: first what
        # was missed since that token. excludeOwn: without the transactions that the caller's own
        # process marked. hold: objects to hold from the start ("Album/348", or "Album/348#7" with
        # the incarnation known). transactions: false for notices about held objects and the store
        # only.
        #
        # First reply: subscription (its name for Hold and Release), token (where the stream
        # begins), head (the end of history now), held (the objects in hold). Then: a transaction,
        # notices that belong to it or to the store, and the token to resume after. A reply with a
        # token alone only moves the position on.
        method Subscribe(
          store: string,
          after: ?string,
          filter: ?Filter,
          excludeOwn: ?bool,
          hold: ?[]string,
          transactions: ?bool
        ) -> (
          subscription: ?string,
          head: ?string,
          held: ?[]Held,
          token: ?string,
          transaction: ?Transaction,
          notices: ?[]Notice
        )

        # Adds objects to those that a subscription of the caller holds, and says how they are now:
        # what changes after that comes as notices of the subscription.
        method Hold(subscription: string, objects: []string) -> (held: []Held)

        # Takes objects back from a subscription; absent: all.
        method Release(subscription: string, objects: ?[]string) -> ()

        """

    private static let consumerMethods = """
        # Registers a consumer, or renews its kind and lease (seconds). Purging waits for readers
        # and peers.
        method RegisterConsumer(store: string, name: string, kind: ?string, lease: ?int) -> ()

        # Says that a consumer is done with everything up to a token. Never moves back.
        method Acknowledge(store: string, consumer: string, token: string) -> ()

        # Forgets a consumer.
        method RemoveConsumer(store: string, consumer: string) -> ()

        # The consumers of a store.
        method Consumers(store: string) -> (consumers: []Consumer)

        """

    private static let errors =
        "# Every error has the reason, what to do next, the file and the operation it is about.\n"
        + ErrorTable.rows.map { row in
            "error \(row.error) (reason: string, hint: ?string, path: ?string, operation: ?string)"
        }.joined(separator: "\n") + "\n"
}

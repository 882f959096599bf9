/// The varlink interface `org.syncd.Store`: its name and its description.
///
/// The description is the contract of the wire: `docs/protocol.md` explains it, the daemon answers
/// `GetInterfaceDescription` with it. An interface is never versioned: it grows by nullable
/// fields and by new methods; a change that breaks callers gets a new name.
public enum StoreInterface {
    /// The interface's name.
    public static let name = "org.syncd.Store"

    /// A method's qualified name, for a call.
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
        # NULL, numbers and text as in JSON; blobs are {"blob": "BASE64"}; integers beyond 2^53
        # {"int": "DIGITS"}; infinite reals {"real": "inf"}. In tombstones and old values a value
        # that is too large for a message is {"ref": Reference}: GetValue fetches it.
        interface org.syncd.Store

        # The process that wrote a transaction, where it is known.
        type Process (pid: int, name: ?string)

        # Why a change happened, when no statement named the object: a foreign-key action or a
        # renumbering (object: the other one), REPLACE, or a merge of another replica's
        # transactions.
        type Cause (kind: (cascade, replace, renumbered, merge), object: ?string, incarnation: ?int)

        # What one transaction did to one object ("Album/348"). properties: those that an update
        # changed. tombstone: values kept of a deleted object, oldValues: values before an update,
        # by property, where they are kept. incarnation: number of the transaction that created the
        # object; absent: it existed before history.
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

        # A slice of a transaction that is too large for one message: at most 1,000 changes and
        # about 1 MiB. index: from 0. isLast: no part follows.
        type Part (index: int, isLast: bool)

        # A value of a tombstone or of old values that is not sent with its change. kind: blob or
        # text. size: in bytes; that of a text in UTF-8.
        type Reference (
          transaction: int,
          change: int,
          property: string,
          kind: (blob, text),
          size: int
        )

        # One commit. number: ascending, with gaps, never used twice. timestamp: ISO 8601 in UTC.
        # origin: "local", or the replica that wrote it first, with its number and time there.
        # flags: coalesced, recovered, remote, repair, authorUncertain, renumbered.
        # part: changes are a part of it, and the parts follow each other; absent: it is whole. All
        # parts have the same head and token: a reader has processed the transaction with its last
        # part.
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
          originTimestamp: ?string,
          part: ?Part
        )

        # A selection of history; all given conditions must hold. after: strictly after this token.
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

        # A selection for a subscription; all given conditions must hold. held: only changes of
        # objects that it holds.
        type Filter (
          entities: ?[]string,
          kinds: ?[]string,
          properties: ?[]string,
          authors: ?[]string,
          excludedAuthors: ?[]string,
          held: ?bool
        )

        # A registered reader of history. acknowledged: number of the last transaction that it has
        # processed, 0: none. lease: seconds without a call after which a purge no longer waits for
        # it; absent: a purge always waits.
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

        # A problem: an error of this interface with its name, and what to do next.
        type Failure (code: string, reason: string, hint: ?string, path: ?string)

        # A remote of a store. lastSync: the last successful exchange; absent: none since the daemon
        # started. behindSince: since when there are unsent changes; absent: there are none. error:
        # why the last exchange failed.
        type Remote (
          name: string,
          url: string,
          state: (idle, syncing, failed),
          lastSync: ?string,
          behindSince: ?string,
          error: ?string
        )

        # A table of a tracked database. outcome: tracked, or skipped with the reason and what to
        # do about it.
        type Table (name: string, outcome: string, reason: ?string, hint: ?string)

        """

    private static let storeMethods = """
        # Tracks a database: installs the triggers and tables of history in it, opens it and
        # remembers it. A database that is tracked already is only opened. entities: only these
        # tables; absent: all. undo: entities that keep the old values of updates ("*": all). keep:
        # "all" (default) or "none" of a deleted object's values. repaired: for a store whose tables
        # had been dropped, what was repaired and what is lost.
        method Track(path: string, entities: ?[]string, undo: ?[]string, keep: ?string)
          -> (store: Store, tables: []Table, repaired: ?[]string)

        # Stops watching a store and removes the triggers and tables of history from it. forget:
        # leave the database as it is, only stop watching it (also when its file is gone). left:
        # objects named syncd_... that another program made; they stay.
        method Untrack(store: string, forget: ?bool) -> (left: ?[]string)

        # The stores that the caller may see.
        method List() -> (stores: []Store)

        # The full status of one store. pending: log rows that are not in the history tables yet.
        # compared: when all rows were last compared with the history; absent: never.
        # ignoresRemotes: the file is not the daemon's own, so that it uses the remotes of its
        # configuration alone and none of the file.
        method Status(store: string) -> (
          store: Store,
          pending: int,
          databaseBytes: int,
          walBytes: int,
          entities: []Table,
          consumers: []Consumer,
          findings: []string,
          remotes: ?[]Remote,
          compared: ?string,
          ignoresRemotes: ?bool
        )

        # Compares triggers and schema with what Track installed. findings: the problems found;
        # empty: none. unrecorded: those of them because of which writes may be missing from the
        # history; absent: the daemon is older.
        method Verify(store: string) -> (
          tables: []Table,
          findings: []string,
          unrecorded: ?[]string
        )

        """

    private static let historyMethods = """
        # The token at the present end of a store's history.
        method Head(store: string) -> (token: string)

        # A position inside of a transaction: opaque.
        type Inside (transaction: int, change: int, index: int)

        # Transactions, oldest first. With more: all of them, in several replies; without: the first
        # page, and next, the token to continue after, when there is more. inside: the page ends
        # with a part that is not the last of its transaction: continue after next, or as before
        # where there is none, with the same inside.
        method History(store: string, query: ?Query, inside: ?Inside)
          -> (transactions: []Transaction, next: ?string, inside: ?Inside)

        # A slice of a value that a Reference names. offset: in bytes, absent: 0. length: at most
        # this many bytes, and at most 1 MiB, which is the default. data: Base64; the bytes of a
        # text are UTF-8. size: that of the whole value.
        method GetValue(
          store: string,
          transaction: int,
          change: int,
          property: string,
          offset: ?int,
          length: ?int
        ) -> (data: string, size: int, kind: (blob, text))

        # How many transactions and changes a query finds.
        method Count(store: string, query: ?Query) -> (transactions: int, changes: int)

        # Deletes history strictly before a token; absent: all that no live consumer needs. Fails
        # with StillNeeded when a consumer needs some of it, unless force.
        method Purge(store: string, before: ?string, force: ?bool)
          -> (transactions: int, changes: int, token: string)

        """

    private static let subscriptionMethods = """
        # The present state of an object that a subscription holds.
        type Held (object: string, present: bool, incarnation: ?int)

        # The transaction that changed a held object, without its changes.
        type By (
          number: int,
          token: string,
          timestamp: string,
          author: ?string,
          context: ?string,
          process: ?Process,
          origin: string
        )

        # A held object was deleted; it stays held until it is replaced or released.
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

        # Exactly one is set. lagged: the subscriber's queue was full; what follows comes from
        # history, nothing is lost (token: the last position sent). storeReplaced: another file, or
        # an older state of this one, is at the path: read all objects again, the stream continues
        # at token. storeRemoved: the file is gone; storeReturned: it is back. schemaChanged: tables
        # or columns changed. historyPurged: history before token was deleted.
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

        # Streams a store's transactions, each once, in order; call it with more. after: begin with
        # what was missed since that token. excludeOwn: without the transactions that the caller's
        # process marked as its own. hold: objects to hold from the start ("Album/348", or
        # "Album/348#7" with the known incarnation). transactions: false: only notices about held
        # objects and the store.
        #
        # A large transaction comes in parts, each in a reply of its own; only the last one has a
        # token. A client that stops before it resumes with the token before, and gets the
        # transaction again from its first part.
        #
        # First reply: subscription (its name for Hold and Release), token (where the stream
        # begins), head (the end of history now), held (the objects in hold). Then: a transaction,
        # notices that belong to it or to the store, and the token to resume after. A reply with
        # only a token moves the position forward.
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

        # Adds objects to those that a subscription of the caller holds, and returns their present
        # state: later changes come as notices of the subscription.
        method Hold(subscription: string, objects: []string) -> (held: []Held)

        # Removes objects from those that a subscription holds; absent: all.
        method Release(subscription: string, objects: ?[]string) -> ()

        """

    private static let consumerMethods = """
        # Registers a consumer, or renews its kind and lease (seconds). Purging waits for readers
        # and peers. It belongs to the caller's user: of another user's, this and Acknowledge are
        # NotAllowed, except for root and the owner of the database.
        method RegisterConsumer(store: string, name: string, kind: ?string, lease: ?int) -> ()

        # Records that a consumer has processed everything up to a token. Never moves back.
        method Acknowledge(store: string, consumer: string, token: string) -> ()

        # Removes a consumer.
        method RemoveConsumer(store: string, consumer: string) -> ()

        # The consumers of a store.
        method Consumers(store: string) -> (consumers: []Consumer)

        """

    private static let errors =
        "# Every error has a reason, and where known what to do next, the file and the operation.\n"
        + ErrorTable.rows.map { row in
            "error \(row.error) (reason: string, hint: ?string, path: ?string, operation: ?string)"
        }.joined(separator: "\n") + "\n"
}

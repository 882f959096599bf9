import SyncCore
import SyncStorage

/// Whether a store is open, and which caller may change that. A value, guarded by its ``HubState``.
///
///     unavailable ──beginOpening──► opening ──finish──► open ──beginOpening──► leaving
///          ▲                          │  ▲                                        │
///          └──────────fail────────────┘  └─────────────────leave──────────────────┘
///
/// and from each of them ``close()`` to `closed`, which is final.
///
/// Invariants:
/// - `opening` and `leaving` belong to one caller: the one whose ``beginOpening()`` returned true.
///   It alone calls ``leave()``, and then ends its turn by exactly one of ``finish(_:end:)``,
///   ``fail(_:)`` and ``abandon()``.
/// - `generation` grows with each opening. A store of an earlier generation is not open any more.
/// - The end of history moves forward within one opening. While it is `unknown`, there may be
///   commits behind it that no subscriber was given: none may be live.
struct StoreLifecycle: Sendable {
    /// Why no store is open.
    enum Absence: Sendable {
        /// It has not been opened yet.
        case notOpened
        /// It was open a moment ago, and is being opened again.
        case reopening
        /// There is no file.
        case missing
        case failed(SyncError)
    }

    /// The last transaction of an open store.
    enum HistoryEnd: Sendable, Equatable {
        /// The last one given to the subscribers, or the last one at the opening if it is later.
        case known(Token)
        /// There may be later ones; ``StoreLifecycle/find(end:generation:)`` makes it known.
        case unknown(after: Token)

        var token: Token {
            switch self {
            case .known(let token), .unknown(let token): token
            }
        }
    }

    enum State: Sendable {
        /// No store is open, and no caller is opening one.
        case unavailable(Absence)
        /// No store is open; one caller is opening it.
        case opening(Absence)
        case open(OpenedStore, HistoryEnd)
        /// Open and in use; one caller is about to close it and open it again.
        case leaving(OpenedStore, HistoryEnd)
        /// Closed for good.
        case closed
    }

    /// How a finished opening continues the one before.
    enum Continuation: Equatable {
        /// There was none before.
        case first
        /// The same file with the same history. `wasAbsent`: it was missing or failed in between.
        case same(wasAbsent: Bool)
        /// Another file or another history.
        case other
    }

    /// What ``leave()`` found.
    enum Departure {
        /// The store to close.
        case left(OpenedStore)
        /// No store was open.
        case absent
        /// The hub was closed: there is nothing to open any more.
        case closed
    }

    private(set) var state = State.unavailable(.notOpened)
    private var generation = 0
    private var lastFile: FileIdentity?
    private var lastEra: StoreEra?
    /// The last transaction that subscribers of the store before were given.
    private(set) var lastEnd: Token?

    // MARK: Reading

    /// The store that is open.
    var opened: OpenedStore? {
        switch state {
        case .open(let opened, _), .leaving(let opened, _): opened
        case .unavailable, .opening, .closed: nil
        }
    }

    /// The end of the open store's history.
    var end: HistoryEnd? {
        switch state {
        case .open(_, let end), .leaving(_, let end): end
        case .unavailable, .opening, .closed: nil
        }
    }

    /// The open store, if it is of this generation.
    func opened(of generation: Int) -> OpenedStore? {
        opened.flatMap { $0.generation == generation ? $0 : nil }
    }

    // MARK: Opening

    /// Takes the turn to open the store, or to open it again.
    ///
    /// - Returns: false when another caller has the turn, or the store is closed for good.
    mutating func beginOpening() -> Bool {
        switch state {
        case .unavailable(let absence): state = .opening(absence)
        case .open(let opened, let end): state = .leaving(opened, end)
        case .opening, .leaving, .closed: return false
        }
        return true
    }

    /// Takes the open store away from its users, so that the caller with the turn can close it.
    mutating func leave() -> Departure {
        switch state {
        case .leaving(let opened, let end):
            state = .opening(.reopening)
            lastEnd = end.token
            return .left(opened)
        case .opening: return .absent
        case .closed: return .closed
        case .unavailable, .open: preconditionFailure("leave() without beginOpening()")
        }
    }

    /// The generation of the store that the caller with the turn is about to open.
    mutating func nextGeneration() -> Int {
        generation += 1
        return generation
    }

    /// Ends the turn: the store is open.
    ///
    /// - Returns: how it continues the opening before; nil when it was closed for good meanwhile.
    mutating func finish(_ opened: OpenedStore, end: Token) -> Continuation? {
        let absence: Absence
        switch state {
        case .opening(let before): absence = before
        case .closed: return nil
        case .unavailable, .open, .leaving: preconditionFailure("finish() without leave()")
        }
        precondition(opened.generation == generation, "an opening of an earlier turn")
        defer { (lastFile, lastEra) = (opened.file, opened.era) }
        state = .open(opened, .known(end))
        guard let lastFile, let lastEra else { return .first }
        guard lastFile == opened.file, lastEra == opened.era else { return .other }
        if case .reopening = absence { return .same(wasAbsent: false) }
        return .same(wasAbsent: true)
    }

    /// Ends the turn: the store cannot be opened.
    ///
    /// - Returns: true when it was open before this turn.
    mutating func fail(_ reason: Absence) -> Bool {
        switch state {
        case .opening(let absence):
            state = .unavailable(reason)
            if case .reopening = absence { return true }
            return false
        case .closed: return false
        case .unavailable, .open, .leaving: preconditionFailure("fail() without leave()")
        }
    }

    /// Ends the turn without an attempt: all is as it was before ``beginOpening()``.
    mutating func abandon() {
        switch state {
        case .opening(.reopening): preconditionFailure("the store was left: finish() or fail()")
        case .opening(let absence): state = .unavailable(absence)
        case .leaving(let opened, let end): state = .open(opened, end)
        case .closed: break
        case .unavailable, .open: preconditionFailure("abandon() without beginOpening()")
        }
    }

    /// Closes for good, from any state.
    ///
    /// - Returns: the store that was open, for the caller to close.
    mutating func close() -> OpenedStore? {
        defer { state = .closed }
        return opened
    }

    // MARK: The end of history

    /// The subscribers were given all transactions up to `token`.
    mutating func advance(to token: Token, generation: Int) {
        move(in: generation) { end in
            if case .known = end { .known(token) } else { .unknown(after: token) }
        }
    }

    /// There is a commit that the subscribers were not given.
    mutating func loseEnd(generation: Int) {
        move(in: generation) { .unknown(after: $0.token) }
    }

    /// History ends at `token`, or behind it, where the subscribers were given more meanwhile.
    ///
    /// - Returns: false when this opening is over.
    mutating func find(end token: Token, generation: Int) -> Bool {
        move(in: generation) { .known(token.number > $0.token.number ? token : $0.token) }
    }

    @discardableResult
    private mutating func move(
        in generation: Int, _ change: (HistoryEnd) -> HistoryEnd
    ) -> Bool {
        switch state {
        case .open(let opened, let end) where opened.generation == generation:
            state = .open(opened, change(end))
        case .leaving(let opened, let end) where opened.generation == generation:
            state = .leaving(opened, change(end))
        default: return false
        }
        return true
    }
}

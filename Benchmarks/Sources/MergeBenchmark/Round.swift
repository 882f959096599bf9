import Foundation
import SyncReplica

/// One run of everything on files of its own.
struct Round {
    /// One measure, ours beside plain SQL's and the session extension's, in seconds of processor
    /// time.
    struct Figures {
        let ours: Measure
        let plain: Double
        var session: Double?
    }

    static let names =
        [
            "extract", "apply to an empty store", "apply, causal", "apply, remote wins",
            "apply, remote loses",
        ] + statements

    /// Those of the measures that are one write transaction.
    static let statements = ["first statement", "first statement, logged", "local statement"]

    /// Bytes of the inserts of all rows.
    private(set) var batchBytes = 0
    /// The same as a changeset of the session extension.
    private(set) var changesetBytes = 0
    /// The longest that a writer waited while the rows were merged into the store, in seconds.
    private(set) var longestWait = 0.0
    /// How often it wrote meanwhile.
    private(set) var waits = 0

    /// What each replica did.
    private(set) var tallies: [(String, MergeTally)] = []

    private let folder: String
    private let first: [Row]
    private let newer: [Row]
    private var figures: [(String, Figures)] = []

    init(folder: String, rows: Int) throws {
        self.folder = folder
        first = Row.make(rows, "first")
        newer = Row.make(rows, "newer")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    /// The figures by name.
    mutating func run() throws -> [(String, Figures)] {
        try runMerges()
        try runFirstStatement("older.db", "first statement", isLogged: false)
        try runFirstStatement("logged.db", "first statement, logged", isLogged: true)
        return figures
    }

    private mutating func runMerges() throws {
        let sourceWriter = try Peer(folder + "/source.db", isNew: true)
        try Store.track(folder + "/source.db")
        let source = try StoreReplica(folder + "/source.db")
        let copy = try StoreReplica.clone(at: folder + "/copy.db", from: try source.export())
        let waiting = try StoreReplica.clone(at: folder + "/waiting.db", from: try source.export())
        let plain = try Peer(folder + "/plain.db", isNew: true)
        let recorded = try Peer(folder + "/recorded.db", isNew: true)
        let applied = try Peer(folder + "/applied.db", isNew: true)

        // To an empty store.
        let start = try copy.position()
        try sourceWriter.upsert(first)
        try source.state()
        try recorded.record()
        try recorded.upsert(first)
        var batches: [[UInt8]] = []
        var inserts = Data()
        let extract = try Measure.of { batches = try source.export(after: start) }
        let read = try seconds { _ = try sourceWriter.readAll() }
        let take = try seconds { inserts = try recorded.changeset() }
        add("extract", extract, read, take)
        batchBytes = batches.reduce(0) { $0 + $1.count }
        changesetBytes = inserts.count
        add(
            "apply to an empty store", try Measure.of { try copy.mergeAll(batches) },
            try seconds { try plain.upsert(first) },
            try seconds { try applied.apply(inserts, isWinning: true) })
        try wait(in: waiting, batches)

        try runCausal(from: source, sourceWriter, to: copy, plain, recorded, applied)

        try runContested(from: source, sourceWriter, to: copy, plain, recorded, applied)
        tallies = [("source", source.tally), ("copy", copy.tally)]
        for replica in [source, copy, waiting] { try replica.close() }
    }

    /// Nobody else touched what the source updates.
    private mutating func runCausal(
        from source: StoreReplica, _ writer: Peer, to copy: StoreReplica, _ plain: Peer,
        _ recorded: Peer, _ applied: Peer
    ) throws {
        let known = try copy.position()
        let causal = Row.make(first.count, "causal")
        try writer.retitle(causal)
        let stating = try Measure.of { try source.state() }
        let updates = try source.export(after: known)
        let update = try seconds { try plain.retitle(causal) }
        add("local statement", stating, update)
        try recorded.record()
        try recorded.retitle(causal)
        let changes = try recorded.changeset()
        add(
            "apply, causal", try Measure.of { try copy.mergeAll(updates) }, update,
            try seconds { try applied.apply(changes, isWinning: true) })
    }

    /// All rows are edited on both sides.
    private mutating func runContested(
        from source: StoreReplica, _ sourceWriter: Peer, to copy: StoreReplica, _ plain: Peer,
        _ recorded: Peer, _ applied: Peer
    ) throws {
        // Remote wins: the copy edits first, the source after it.
        try Peer(folder + "/copy.db").retitle(Row.make(first.count, "older"))
        try copy.state()
        try applied.retitle(Row.make(first.count, "older"))
        Thread.sleep(forTimeInterval: 0.02)
        let before = try copy.position()
        try sourceWriter.retitle(newer)
        try source.state()
        try recorded.record()
        try recorded.retitle(newer)
        let edits = try recorded.changeset()
        let edited = try source.export(after: before)
        let again = try seconds { try plain.retitle(newer) }
        let losing = try copy.export(after: try source.position())
        add(
            "apply, remote wins", try Measure.of { try copy.mergeAll(edited) }, again,
            try seconds { try applied.apply(edits, isWinning: true) })

        // Remote loses: what the copy wrote arrives at the source, which has newer values.
        let loses = try Measure.of { try source.mergeAll(losing) }
        try applied.retitle(Row.make(first.count, "last"))
        add(
            "apply, remote loses", loses, again,
            try seconds { try applied.apply(edits, isWinning: false) })
    }

    /// What the first push, the first pull and `remote add` of a database with rows do.
    /// - Parameter isLogged: whether the rows are written after `track`; else they are older.
    private mutating func runFirstStatement(
        _ file: String, _ name: String, isLogged: Bool
    ) throws {
        let writer = try Peer(folder + "/" + file, isNew: true)
        if !isLogged { try writer.upsert(first) }
        try Store.track(folder + "/" + file)
        if isLogged { try writer.upsert(first) }
        let replica = try StoreReplica(folder + "/" + file)
        let ours = try Measure.of { try replica.state() }
        let plain = try Peer(folder + "/plain-" + file, isNew: true)
        add(name, ours, try seconds { try plain.upsert(first) })
        tallies.append((name, replica.tally))
        try replica.close()
    }

    private mutating func add(
        _ name: String, _ ours: Measure, _ plain: Double, _ session: Double? = nil
    ) {
        figures.append((name, Figures(ours: ours, plain: plain, session: session)))
    }

    /// A person writes a little every two milliseconds while batches are merged.
    private mutating func wait(in replica: StoreReplica, _ batches: [[UInt8]]) throws {
        let meter = WaitMeter(folder + "/waiting.db")
        try replica.mergeAll(batches)
        (longestWait, waits) = try meter.end()
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        try Measure.of(body).processor
    }
}

extension StoreReplica {
    /// Merges all batches.
    func mergeAll(_ batches: [[UInt8]]) throws {
        for batch in batches {
            guard try merge(batch) else { throw PeerFailure(reason: "a gap between batches") }
        }
    }

    /// States what writers have committed, so that it is not measured with what follows.
    func state() throws { _ = try position() }
}

import Foundation
import SyncReplica

/// One run of everything on files of its own.
struct Round {
    /// Seconds of one measure, ours beside plain SQL's and the session extension's.
    struct Figures {
        let ours: Double
        let plain: Double
        var session: Double?
    }

    static let names = [
        "extract", "apply to an empty store", "apply, remote wins", "apply, remote loses",
    ]

    /// Bytes of the inserts of all rows.
    private(set) var batchBytes = 0
    /// The same as a changeset of the session extension.
    private(set) var changesetBytes = 0
    /// The longest that a writer waited while the rows were merged into the store, in seconds.
    private(set) var longestWait = 0.0
    /// How often it wrote meanwhile.
    private(set) var waits = 0

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
        let extract = try seconds { batches = try source.export(after: start) }
        let read = try seconds { _ = try sourceWriter.readAll() }
        let take = try seconds { inserts = try recorded.changeset() }
        add(0, extract, read, take)
        batchBytes = batches.reduce(0) { $0 + $1.count }
        changesetBytes = inserts.count
        add(
            1, try seconds { try copy.mergeAll(batches) }, try seconds { try plain.upsert(first) },
            try seconds { try applied.apply(inserts, isWinning: true) })
        try wait(in: waiting, batches)

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
        let update = try seconds { try plain.retitle(newer) }
        let losing = try copy.export(after: try source.position())
        let ours = try seconds { try copy.mergeAll(edited) }
        add(2, ours, update, try seconds { try applied.apply(edits, isWinning: true) })

        // Remote loses: what the copy wrote arrives at the source, which has newer values.
        let loses = try seconds { try source.mergeAll(losing) }
        try applied.retitle(Row.make(first.count, "last"))
        add(3, loses, update, try seconds { try applied.apply(edits, isWinning: false) })
        for replica in [source, copy, waiting] { try replica.close() }
        return figures
    }

    private mutating func add(_ name: Int, _ ours: Double, _ plain: Double, _ session: Double) {
        figures.append((Self.names[name], Figures(ours: ours, plain: plain, session: session)))
    }

    /// A person writes a little every two milliseconds while batches are merged.
    private mutating func wait(in replica: StoreReplica, _ batches: [[UInt8]]) throws {
        let meter = WaitMeter(folder + "/waiting.db")
        try replica.mergeAll(batches)
        (longestWait, waits) = try meter.end()
    }

    /// Processor time: what else runs on the machine, and the pauses that a merge leaves to
    /// writers, do not count.
    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = Self.processorSeconds
        try body()
        return Self.processorSeconds - start
    }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
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

import SyncStorage
import SyncValues

/// Moves transactions from the log into the history tables, in short write transactions.
///
/// Several processes may digest one store. A slice is written only where `digested` is what it was
/// when the slice was put together, so that no row becomes part of two transactions.
///
/// Invariants:
/// - `syncd_meta.digested` only grows, and only together with the headers of the transactions up to
///   it.
/// - A transaction is part of history from the moment its header is written; its changes may have
///   been written in earlier slices, where no reader sees them.
/// - A log row is deleted only when it is at or before `digested`; the newest row always stays, so
///   that SQLite never gives a seq twice.
///
/// Writers are held up for the length of one slice. A slice writes at most ``sliceChangesMax``
/// changes (about 2 ms): more would make a writer with a short busy timeout fail, fewer would spend
/// the time on commits.
///
/// A transaction beyond ``AssemblyLimit/memory`` is not assembled in memory but slice by slice
/// (``LargeTransaction``); this may go on over several calls of ``digest(_:while:)``.
final class Digester {
    /// Changes written in one slice.
    static let sliceChangesMax = 500
    /// The same when more than ``backlogMax`` rows wait: about 20 ms. Beside writers that leave no
    /// gap the lock is rarely free, and small slices would never catch up.
    static let longSliceChangesMax = 5_000
    static let backlogMax: Int64 = 10_000
    /// Log rows deleted in one slice.
    static let sliceRowsMax = 10_000

    let connection: OpaquePointer
    let metadata: Metadata
    var continuity: LogContinuity { LogContinuity(metadata) }
    private let assembler: TransactionAssembler
    private let trimmable: Statement
    private let trim: Statement
    private let dropUnfinished: Statement
    private let didCommit: () -> Void
    private var gate: (any DigestGate)?
    let writer: HistoryWriter
    private let reader: LogReader
    /// The one that is being written.
    var large: LargeDigest?

    /// How far one step came.
    enum Step {
        /// History is complete up to this seq.
        case reached(Int64)
        /// The large transaction is not whole yet.
        case unfinished
        /// Nothing was written: the boundaries have to be found again.
        case outdated
    }

    /// - Parameter didCommit: called after each commit of the digest.
    init(
        _ connection: OpaquePointer, catalog: EntityCatalog, metadata: Metadata,
        didCommit: @escaping () -> Void
    ) throws {
        self.connection = connection
        self.didCommit = didCommit
        self.metadata = metadata
        reader = try LogReader(connection, catalog: catalog)
        assembler = TransactionAssembler(reader, limit: .memory)
        trimmable = try Statement(LogTable.trimmableSQL, on: connection)
        trim = try Statement(LogTable.trimSQL, on: connection)
        dropUnfinished = try Statement(ChangeTable.deleteAfterSQL, on: connection)
        writer = try HistoryWriter(connection)
    }

    /// Whether the log has rows that history has as well.
    static func canTrim(on connection: OpaquePointer, digested: Int64) throws -> Bool {
        let statement = try Statement(LogTable.trimmableSQL, on: connection)
        statement.bind(digested, at: 1)
        return try statement.step()
    }

    /// How much of the log is deleted that the history tables have.
    enum Trimming {
        /// All of it.
        case whole
        /// One slice: a reader does not wait for more.
        case oneSlice
    }

    /// Digests what `boundaries` enclose and trims the log. Ends early when another process digests
    /// as well, or when `gate` does not let a slice pass: the boundaries have to be found again.
    ///
    /// - Parameters:
    ///   - gate: asked inside each write transaction.
    ///   - isDue: asked after each slice; false ends the work early.
    /// - Returns: the seq up to which history is complete now.
    /// - Throws: `busy` when a writer holds the lock; what was done until then stays.
    func digest(
        _ boundaries: [Boundary], trimming: Trimming = .whole,
        through gate: (any DigestGate)? = nil, while isDue: () throws -> Bool
    ) throws -> Int64 {
        self.gate = gate
        defer { self.gate = nil }
        var digested = try metadata.position(.digested)
        while let end = boundaries.last?.last, digested < end, try isDue() {
            switch try large == nil
                ? digestBatch(boundaries.filter { $0.last > digested }, after: digested)
                : writeLarge(after: digested)
            {
            case .reached(let seq): digested = seq
            case .unfinished: break
            case .outdated: return try metadata.position(.digested)
            }
        }
        while try hasRowsToTrim(upTo: digested), try isDue() {
            try trimSlice(upTo: digested)
            if trimming == .oneSlice { break }
        }
        return digested
    }

    /// Reads transactions until there are enough changes for a slice, then writes them.
    private func digestBatch(_ boundaries: [Boundary], after digested: Int64) throws -> Step {
        var batch: [NetTransaction] = []
        var changes = 0
        // Commits that changed nothing in the end leave no transaction, but are done with as well.
        var end = boundaries[boundaries.count - 1].last
        let isBehind = end - digested > Self.backlogMax
        let changesMax = isBehind ? Self.longSliceChangesMax : Self.sliceChangesMax
        try RawTransaction.read(on: connection) {
            try assembler.forEach(after: digested, in: boundaries) { transaction in
                if transaction.unassembled != nil {
                    end = transaction.first - 1
                    large = LargeDigest(transaction: LargeTransaction(transaction, from: reader))
                    return false
                }
                batch.append(transaction)
                changes += transaction.changes.count
                guard changes >= changesMax else { return true }
                end = transaction.number
                return false
            }
            try continuity.requireAll(
                after: digested, upTo: large?.transaction.header.number ?? end)
        }
        if let large = batch.last, large.changes.count > changesMax {
            let before = large.first - 1
            guard try write(batch.dropLast(), after: digested, upTo: before),
                try writeInSlices(large, after: max(digested, before))
            else { return .outdated }
        } else {
            guard try write(batch[...], after: digested, upTo: end) else { return .outdated }
        }
        return .reached(end)
    }

    private func write(
        _ transactions: ArraySlice<NetTransaction>, after digested: Int64, upTo end: Int64
    ) throws -> Bool {
        guard end > digested else { return true }
        return try commit(after: digested, upTo: end) {
            try dropUnfinished.run(.integer(digested))
            try writer.write(transactions)
            try continuity.setDigested(end)
            return true
        }
    }

    /// All slices but the last have changes only.
    private func writeInSlices(_ large: NetTransaction, after digested: Int64) throws -> Bool {
        let attempt = Attempt()
        var rest = large.changes[...]
        var isBegun = false
        while true {
            let slice = rest.prefix(Self.sliceChangesMax)
            let isLast = slice.count == rest.count
            let isWritten = try commit(after: digested, upTo: large.number) {
                guard try continues(attempt, isBegun: isBegun, after: digested) else {
                    return false
                }
                try writer.write(slice)
                guard isLast else { return true }
                try writer.write(headers: CollectionOfOne(large))
                try continuity.setDigested(large.number)
                return true
            }
            guard isWritten else { return false }
            if isLast { return true }
            isBegun = true
            rest = rest.dropFirst(Self.sliceChangesMax)
        }
    }

    /// Names the process that writes one transaction in several slices, in the metadata.
    struct Attempt {
        fileprivate let mark = Value.integer(.random(in: 1 ... .max))
    }

    /// Begins an attempt, or finds out whether it is still the one: another process that began on
    /// the same rows meanwhile has removed the changes of the earlier slices.
    func continues(_ attempt: Attempt, isBegun: Bool, after digested: Int64) throws -> Bool {
        if isBegun { return try metadata.value(.digesting) == attempt.mark }
        try dropUnfinished.run(.integer(digested))
        try metadata.set(.digesting, to: attempt.mark)
        return true
    }

    private func hasRowsToTrim(upTo digested: Int64) throws -> Bool {
        trimmable.bind(digested, at: 1)
        defer { trimmable.reset() }
        return try trimmable.step()
    }

    private func trimSlice(upTo digested: Int64) throws {
        try RawTransaction.write(on: connection, didCommit: didCommit) {
            trim.bind(digested, at: 1)
            trim.bind(Int64(Self.sliceRowsMax), at: 2)
            try trim.run()
        }
    }

    /// - Returns: what `body` returns; false without calling it when the slice is out of date.
    func commit(
        after digested: Int64, upTo end: Int64, _ body: () throws -> Bool
    ) throws -> Bool {
        defer { gate?.leave() }
        return try RawTransaction.write(on: connection, didCommit: didCommit) {
            guard try metadata.position(.digested) == digested else { return false }
            if let gate, try !gate.enter(after: digested, upTo: end) { return false }
            return try body()
        }
    }
}

import SyncValues

/// Reads committed log rows and hands out whole transactions, in order.
///
/// Where the end of each commit is known, a transaction is one commit. Where several ran together,
/// markers separate them: a marker that begins ends what was before it, and what an end marker
/// closes is one commit. A marker without an end keeps its author, but what follows it may have
/// commits of others, so the transaction is `authorUncertain`.
package struct TransactionAssembler {
    private let reader: LogReader
    private let limit: AssemblyLimit

    package init(_ reader: LogReader) { self.init(reader, limit: .none) }

    /// - Parameter limit: a larger transaction comes without its changes
    ///   (``NetTransaction/unassembled``).
    init(_ reader: LogReader, limit: AssemblyLimit) {
        self.reader = reader
        self.limit = limit
    }

    /// Calls `body` for each transaction after `seq` that changed something, until it returns
    /// false.
    ///
    /// - Parameter boundaries: ascending, below ``LogReader/seqMax``; the last one is where reading
    ///   ends.
    /// - Throws: `badData` for an entity that cannot be read; what `body` throws.
    package func forEach(
        after seq: Int64, in boundaries: some BidirectionalCollection<Boundary>,
        _ body: (NetTransaction) throws -> Bool
    ) throws {
        guard let last = boundaries.last else { return }
        try reader.seek(after: seq, upTo: last.last)
        defer { reader.finish() }
        var first = seq + 1
        var pending = try reader.next()
        for boundary in boundaries {
            var open = Piece(first: first, boundary, limit: limit)
            while let record = pending, record.seq <= boundary.last {
                if !boundary.isExact, let marker = record.marker(splitting: open) {
                    // What a marker encloses is one commit, even where commits ran together.
                    let end = marker.isEnd ? record.lastSeq : record.seq - 1
                    if marker.isEnd { open.append(record) }
                    if let done = open.finish(number: end, isCoalesced: !marker.isEnd) {
                        guard try body(done) else { return }
                    }
                    open = Piece(first: end + 1, boundary, limit: limit)
                    if !marker.isEnd { open.append(record) }
                } else {
                    open.append(record)
                }
                pending = try reader.next()
            }
            let done = open.finish(number: boundary.last, isCoalesced: !boundary.isExact)
            if let done { guard try body(done) else { return } }
            first = boundary.last + 1
        }
    }

    /// The transaction of one commit whose records, all after row `seq`, are at hand; nil when it
    /// changed nothing.
    func transaction(
        of records: [LogRecord], after seq: Int64, endingAt boundary: Boundary
    ) -> NetTransaction? {
        precondition(boundary.isExact, "records of several commits")
        var piece = Piece(first: seq + 1, boundary, limit: limit)
        for record in records { piece.append(record) }
        return piece.finish(number: boundary.last, isCoalesced: false)
    }

    /// The rows since the last boundary.
    fileprivate struct Piece {
        let first: Int64
        private let limit: AssemblyLimit
        private var bytes = 0
        var builder: TransactionBuilder
        var isEmpty = true
        /// It has a beginning marker without its end.
        var isOpenMarked = false
        /// It has rows outside of what markers enclose.
        private var hasUnmarkedRows = false

        init(first: Int64, _ boundary: Boundary, limit: AssemblyLimit) {
            self.first = first
            self.limit = limit
            builder = TransactionBuilder(keepsVanished: !boundary.isExact)
        }

        mutating func append(_ record: LogRecord) {
            isEmpty = false
            if record.kind == .marker {
                isOpenMarked = !record.marker.isEnd
            } else if !isOpenMarked {
                hasUnmarkedRows = true
            }
            builder.append(record)
            guard limit.isLimited, !builder.isWithoutDrafts else { return }
            bytes += record.valueBytes
            if limit.isExceeded(changes: builder.draftCount, bytes: bytes) { builder.dropDrafts() }
        }

        func finish(number: Int64, isCoalesced: Bool) -> NetTransaction? {
            guard !isEmpty else { return nil }
            let changes = builder.finish(isCoalesced: isCoalesced)
            guard !changes.isEmpty || builder.isWithoutDrafts else { return nil }
            var flags: Transaction.Flags = isCoalesced ? .coalesced : []
            if builder.isRecovered { flags.insert(.recovered) }
            if builder.who != nil, isCoalesced || hasUnmarkedRows {
                flags.insert(.authorUncertain)
            }
            var transaction = NetTransaction(
                first: first, number: number,
                time: builder.time.map(Timestamp.init(julianDay:)) ?? Timestamp(milliseconds: 0),
                who: builder.who, flags: flags, changes: changes)
            if builder.isWithoutDrafts {
                transaction.unassembled = .init(keepsVanished: builder.keepsVanished)
            }
            return transaction
        }
    }
}

extension LogRecord {
    /// The marker, when the piece ends with or before it.
    fileprivate func marker(splitting piece: TransactionAssembler.Piece) -> Marker? {
        guard kind == .marker else { return nil }
        let marker = marker
        if marker.isEnd { return piece.isOpenMarked ? marker : nil }
        return piece.isEmpty ? nil : marker
    }
}

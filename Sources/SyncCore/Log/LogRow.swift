import SyncValues

/// One row of the log as it is stored.
struct LogRow: Equatable {
    let seq: Int64
    let op: Int64
    let m: Int64
    /// Julian day; nil when a writer stored something else.
    let time: Double?
    /// The columns `pk`, `v0` … `v5`.
    let values: [Value]

    /// The event that the row is, on its own: the same as ``LogReader/next()`` makes of it; nil for
    /// a marker, a row that goes on in the next one or is no event, and an entity that the catalog
    /// has not read.
    func record(_ catalog: EntityCatalog) -> LogRecord? {
        guard op >= 0, let kind = LogKind(rawValue: op & 7), kind != .marker, kind != .continued,
            let entity = catalog.known(op >> 3)
        else { return nil }
        let count = entity.layout.valueCount(kind)
        guard count <= values.count else { return nil }
        return LogRecord(
            seq: seq, lastSeq: seq, kind: kind, m: m, time: time, entity: entity,
            values: Array(values.prefix(count)))
    }
}

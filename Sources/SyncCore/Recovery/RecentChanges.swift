import SyncStorage
import SyncValues

/// What was recorded of objects after their fingerprints were taken.
struct RecentChanges {
    private var kinds: [Int64: [Value: Change.Kind]] = [:]

    init(_ connection: OpaquePointer, catalog: EntityCatalog) throws {
        let metadata = Metadata(connection)
        let current = try metadata.currentFingerprints()
        let digested = try metadata.position(.digested)
        // What is after it belongs to a large transaction that is digested in part: the log has it.
        let changes = try Statement(ChangeTable.kindsSQL, on: connection)
        changes.bind(try metadata.position(.fingerprinted), at: 1)
        changes.bind(digested, at: 2)
        while try changes.step() {
            let op = changes.integer(0)
            guard let kind = Change.Kind(rawValue: Int(op & 7)),
                let entity = try catalog.entity(op >> 3),
                changes.integer(2) > current[entity.lineage] ?? 0
            else { continue }
            kinds[entity.lineage, default: [:]][changes.value(1)] = kind
        }
        let log = try LogReader(connection, catalog: catalog)
        try log.seek(after: digested, upTo: .max)
        defer { log.finish() }
        var builder = TransactionBuilder()
        while let record = try log.next() {
            guard record.seq > record.entity.flatMap({ current[$0.lineage] }) ?? 0 else { continue }
            builder.append(record)
        }
        for change in builder.finish() {
            kinds[change.entity.lineage, default: [:]][NetChange.storedKey(change.key)] =
                change.kind
        }
    }

    func has(_ lineage: Int64) -> Bool { kinds[lineage] != nil }

    /// What was last done to the object; nil: nothing.
    func kind(lineage: Int64, key: Value) -> Change.Kind? { kinds[lineage]?[key] }

    /// The objects of a lineage that something was done to.
    func keys(_ lineage: Int64) -> [Value] { kinds[lineage].map { Array($0.keys) } ?? [] }
}

import SyncStorage
import SyncValues

extension Store {
    /// A slice of a value that a tombstone or old values refer to.
    ///
    /// - Parameters:
    ///   - reference: its `kind` and `bytes` are not used.
    ///   - offset: where the slice begins, in bytes.
    ///   - count: how many bytes at most.
    /// - Returns: the bytes, of a text in UTF-8, and the value's kind and size.
    /// - Throws: ``SyncError``: `historyExpired` when the transaction was purged,
    ///   `invalidArgument` when there is no such value.
    /// - Complexity: O(size of all values of the change).
    public func value(
        at reference: ValueReference, offset: Int = 0, count: Int = .max
    ) throws -> (bytes: [UInt8], reference: ValueReference) {
        try explaining("read a value") {
            try digestLarge()
            let boundaries = try live.withState { _, live in try live.pendingBoundaries() }
            return try reading.read { reader in
                let scan = HistoryScan(reader, boundaries: boundaries)
                guard
                    let change = try scan.change(
                        seq: reference.change, in: reference.transaction),
                    let value = change.tombstone?[reference.property]
                        ?? change.oldValues?[reference.property]
                else { throw try missing(reference, purged: reader.metadata.position(.purged)) }
                return try Self.slice(value, at: reference, offset: offset, count: count)
            }
        }
    }

    private func missing(_ reference: ValueReference, purged: Int64) -> SyncError {
        if reference.transaction <= purged {
            return SyncError(
                .historyExpired, "transaction \(reference.transaction) was purged",
                hint: "Its values are not stored any more")
        }
        return SyncError(
            .invalidArgument,
            "transaction \(reference.transaction) has no value of '\(reference.property)' "
                + "in the change \(reference.change)",
            hint: "Use the members of a \"ref\" in a tombstone or in old values")
    }

    private static func slice(
        _ value: Value, at reference: ValueReference, offset: Int, count: Int
    ) throws -> (bytes: [UInt8], reference: ValueReference) {
        let kind: ValueReference.Kind
        let bytes: [UInt8]
        switch value {
        case .blob(let blob): (kind, bytes) = (.blob, blob)
        case .text(let text): (kind, bytes) = (.text, text.textBytes)
        case .null, .integer, .real:
            throw SyncError(
                .invalidArgument, "the value of '\(reference.property)' is not a blob or a text",
                hint: "It is sent with its change")
        }
        guard offset >= 0, count >= 0 else {
            throw SyncError(
                .invalidArgument, "the offset or the length of a slice is negative",
                hint: "Begin with offset 0")
        }
        let rest = bytes.dropFirst(offset).prefix(count)
        return (
            Array(rest),
            ValueReference(
                transaction: reference.transaction, change: reference.change,
                property: reference.property, kind: kind, bytes: bytes.count)
        )
    }
}

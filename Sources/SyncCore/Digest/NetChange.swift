import SyncValues

/// The net effect of one transaction on one object, before names and incarnations are put to it.
/// What `syncd_change` stores.
package struct NetChange {
    /// Why, as far as the log says; objects by entity id and key.
    package enum Cause: Hashable {
        case direct, replace
        /// A merge of another replica's transactions.
        case merge
        case cascade(entity: Int64, key: ObjectKey)
        case renumbered(ObjectKey)
    }

    package internal(set) var seq: Int64
    /// The seq of the last event that is in it: a reader between the two has not all of it.
    package var last: Int64
    package let entity: TrackedEntity
    package let key: ObjectKey
    package let kind: Change.Kind
    /// Updates: the changed columns. Deletes where commits ran together: those that were changed
    /// before the delete, so that ``kept`` is not what was there before the transaction.
    package var mask = ColumnMask()
    /// Deletes: the kept values, by position in the entity's `kept`.
    package var kept: [Value] = []
    /// With `undo`: the values before the transaction of the columns in `mask`, in column order.
    package var old: [Value] = []
    package var cause = Cause.direct
    /// Where commits ran together: when its parts were written, oldest first; that of an insert
    /// begins with it. Empty: at the time of the transaction.
    package var written: [WriteTime] = []

    package init(
        seq: Int64,
        entity: TrackedEntity,
        key: ObjectKey,
        kind: Change.Kind,
        mask: ColumnMask = ColumnMask(),
        kept: [Value] = [],
        old: [Value] = [],
        cause: Cause = Cause.direct,
        last: Int64? = nil,
        written: [WriteTime] = []
    ) {
        self.seq = seq
        self.last = last ?? seq
        self.entity = entity
        self.key = key
        self.kind = kind
        self.mask = mask
        self.kept = kept
        self.old = old
        self.cause = cause
        self.written = written
    }
}

/// One commit's net effect.
package struct NetTransaction {
    package let first: Int64
    package let number: Int64
    package let time: Timestamp
    package let who: LogRecord.Marker?
    package let flags: Transaction.Flags
    package let changes: [NetChange]
    /// Where it was written first; nil for local ones.
    package var origin: Transaction.Origin?
    /// Nil: `changes` are all of its changes. Else it is too large to be assembled in memory, and
    /// `changes` is empty.
    var unassembled: Unassembled?

    /// What is needed to assemble the changes later, piece by piece (``LargeTransaction``).
    struct Unassembled {
        /// As ``TransactionBuilder`` takes it.
        let keepsVanished: Bool
    }

    package init(
        first: Int64,
        number: Int64,
        time: Timestamp,
        who: LogRecord.Marker?,
        flags: Transaction.Flags,
        changes: [NetChange],
        origin: Transaction.Origin? = nil
    ) {
        self.first = first
        self.number = number
        self.time = time
        self.who = who
        self.flags = flags
        self.changes = changes
        self.origin = origin
    }
}

extension NetChange {
    /// The key as `syncd_change.key` has it: the value itself, or the packed values of several
    /// columns.
    static func storedKey(_ key: ObjectKey) -> Value {
        StoredKey.value(of: key.values, as: .bare)
    }

    /// The key in `syncd_change.key`.
    /// - Throws: `badData`.
    package static func key(stored value: Value, _ entity: TrackedEntity) throws -> ObjectKey {
        ObjectKey(try StoredKey.key(from: value, columnCount: entity.keyCount))
    }

    fileprivate enum CauseTag: UInt8 {
        case direct, replace, cascade, renumbered, merge
    }

    /// `syncd_change.data`: the cause, then what the kind has: an update's mask words and old
    /// values, a delete's kept values; then, where several events are in it, the distance
    /// from the first to the last, and the times of its writes. Nil when there is nothing but a
    /// direct insert.
    var packedData: [UInt8]? {
        if kind == .insert, cause == .direct, last == seq, written.isEmpty { return nil }
        var writer = ByteWriter()
        switch cause {
        case .direct: writer.append(byte: CauseTag.direct.rawValue)
        case .replace: writer.append(byte: CauseTag.replace.rawValue)
        case .merge: writer.append(byte: CauseTag.merge.rawValue)
        case .cascade(let entity, let key):
            writer.append(byte: CauseTag.cascade.rawValue)
            writer.append(varint: UInt64(bitPattern: entity))
            writer.append(values: key.values)
        case .renumbered(let key):
            writer.append(byte: CauseTag.renumbered.rawValue)
            writer.append(values: key.values)
        }
        switch kind {
        case .insert: break
        case .update: appendUpdates(to: &writer)
        case .delete:
            writer.append(values: kept)
        }
        // Numbers are below 2^62, and `last` is not before `seq`.
        let hasUpdates = kind == .delete && !(mask.isEmpty && written.isEmpty)
        if last > seq || hasUpdates || !written.isEmpty {
            writer.append(varint: UInt64(max(0, last - seq)))
        }
        if hasUpdates { appendUpdates(to: &writer) }
        if !written.isEmpty { appendTimes(to: &writer) }
        return writer.bytes
    }

    /// The count, then for each the age; of several also the columns.
    private func appendTimes(to writer: inout ByteWriter) {
        writer.append(varint: UInt64(written.count))
        for time in written {
            writer.append(varint: UInt64(max(0, time.ageMilliseconds)))
            if written.count > 1 { writer.append(time.columns) }
        }
    }

    /// ``packedData`` of an insert that a merge made.
    package static let mergedInsert = [CauseTag.merge.rawValue]

    /// ``packedData`` of an update that a merge made, of a table without old values.
    package static func mergedUpdate(of columns: ColumnMask) -> [UInt8] {
        var writer = ByteWriter()
        writer.append(byte: CauseTag.merge.rawValue)
        writer.append(columns)
        writer.append(values: [])
        return writer.bytes
    }

    private func appendUpdates(to writer: inout ByteWriter) {
        writer.append(mask)
        writer.append(values: old)
    }

    /// Reads a row of `syncd_change` back.
    /// - Throws: `badData`.
    package init(
        seq: Int64, entity: TrackedEntity, kind: Change.Kind, key: Value, data: [UInt8]?
    ) throws {
        // Read first: a change that is filled part by part is copied for each.
        let key = try Self.key(stored: key, entity)
        var cause = Cause.direct
        var (mask, old) = (ColumnMask(), [Value]())
        var kept: [Value] = []
        var last = seq
        var written: [WriteTime] = []
        if let data {
            var reader = ByteReader(data)
            cause = try reader.cause()
            switch kind {
            case .insert: break
            case .update: (mask, old) = try reader.updates()
            case .delete: kept = try reader.values(allowEmpty: true)
            }
            if !reader.isAtEnd {
                let distance = Int64(truncatingIfNeeded: try reader.varint())
                let (sum, overflows) = seq.addingReportingOverflow(distance)
                if distance >= 0, !overflows { last = sum }
            }
            if kind == .delete, !reader.isAtEnd { (mask, old) = try reader.updates() }
            if !reader.isAtEnd { written = try reader.times(kind == .update ? mask : ColumnMask()) }
        }
        self.init(
            seq: seq, entity: entity, key: key, kind: kind, mask: mask, kept: kept, old: old,
            cause: cause, last: last, written: written)
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ mask: ColumnMask) {
        append(varint: UInt64(mask.words.count))
        for word in mask.words { append(varint: word) }
    }

    fileprivate mutating func append(values: [Value]) {
        append(varint: UInt64(values.count))
        for value in values { append(value) }
    }
}

extension ByteReader {
    fileprivate mutating func cause() throws -> NetChange.Cause {
        switch NetChange.CauseTag(rawValue: try byte()) {
        case .direct: return .direct
        case .replace: return .replace
        case .merge: return .merge
        case .cascade:
            let parent = Int64(truncatingIfNeeded: try varint())
            return .cascade(entity: parent, key: ObjectKey(try values()))
        case .renumbered: return .renumbered(ObjectKey(try values()))
        case nil: throw SyncError(.badData, "unknown cause in history")
        }
    }

    /// The changed columns and their old values.
    fileprivate mutating func updates() throws -> (mask: ColumnMask, old: [Value]) {
        (try mask(), try values(allowEmpty: true))
    }

    /// When a change was written.
    /// - Parameter columns: of an only time.
    fileprivate mutating func times(_ columns: ColumnMask) throws -> [WriteTime] {
        let count = try varint()
        // One for each column, and the insert.
        guard count <= 32_768 else { throw SyncError(.badData, "too many times of writes") }
        return try (0..<count).map { _ in
            let age = Int64(clamping: try varint())
            return WriteTime(columns: count > 1 ? try mask() : columns, ageMilliseconds: age)
        }
    }

    fileprivate mutating func mask() throws -> ColumnMask {
        let count = try varint()
        guard count <= 64 else { throw SyncError(.badData, "too many mask words") }
        return ColumnMask(words: try (0..<count).map { _ in try varint() })
    }

    fileprivate mutating func values(allowEmpty: Bool = false) throws -> [Value] {
        let count = try varint()
        // SQLite has at most 32,767 columns: more is not a value list.
        guard count <= 32_767, allowEmpty || count > 0 else {
            throw SyncError(.badData, "a value list in history has \(count) values")
        }
        return try (0..<count).map { _ in try value() }
    }
}

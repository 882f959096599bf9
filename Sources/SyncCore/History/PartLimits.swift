import SyncValues

/// How large a part of a transaction may be (``Transaction/part``), and how large the values in it.
/// A transaction within the limits is whole.
///
/// Too small costs a header and a message for few changes; too large costs memory, on both sides of
/// a connection.
public struct PartLimits: Sendable, Hashable {
    /// Changes in one part; at least 1.
    public var changesMax: Int
    /// About how many bytes the changes of one part take as JSON. A part exceeds it by at most one
    /// change.
    public var bytesMax: Int
    /// The bytes that the values of one change may take; the largest ones beyond it become
    /// references (``NamedValues/references``). Nil: none does.
    public var valueBytesMax: Int?

    /// Parts of at most 1,000 changes and about 1 MiB; values beyond 1 MiB by reference.
    public static let message = PartLimits(
        changesMax: 1_000, bytesMax: 1 << 20, valueBytesMax: 1 << 20)

    /// Every transaction is whole, with all of its values.
    public static let none = PartLimits(changesMax: .max, bytesMax: .max, valueBytesMax: nil)

    /// - Parameters:
    ///   - changesMax: at least 1.
    ///   - bytesMax: at least 1.
    ///   - valueBytesMax: nil: no value becomes a reference.
    public init(changesMax: Int, bytesMax: Int, valueBytesMax: Int?) {
        precondition(changesMax > 0 && bytesMax > 0, "a part has at least one change")
        self.changesMax = changesMax
        self.bytesMax = bytesMax
        self.valueBytesMax = valueBytesMax
    }

    /// Whether a transaction is larger than one part.
    ///
    /// - Complexity: O(changes and their values), at most ``changesMax``.
    package func exceeds(_ transaction: Transaction) -> Bool {
        if transaction.changes.count > changesMax { return true }
        var bytes = 0
        for change in transaction.changes {
            bytes += change.jsonBytes
            if bytes > bytesMax { return true }
        }
        return false
    }
}

/// A position inside of a transaction: the parts up to it were read.
public struct PartPosition: Sendable, Hashable {
    /// The number of the transaction.
    public let transaction: Int64
    /// The ``Change/seq`` of the last change that was read.
    public let change: Int64
    /// The index of the next part.
    public let index: Int

    /// Makes a position.
    public init(transaction: Int64, change: Int64, index: Int) {
        self.transaction = transaction
        self.change = change
        self.index = index
    }

    /// The position after a part; nil after the last one and after a whole transaction.
    ///
    /// - Parameter transaction: as ``Store/forEachTransaction(matching:inParts:from:_:)`` gave it.
    public init?(after transaction: Transaction) {
        guard let part = transaction.part, !part.isLast, let last = transaction.changes.last else {
            return nil
        }
        self.init(transaction: transaction.number, change: last.seq, index: part.index + 1)
    }
}

extension Change {
    /// About how many bytes it takes as JSON.
    ///
    /// - Complexity: O(values)
    package var jsonBytes: Int {
        var bytes = 96 + 2 * object.entity.utf8.count
        for value in object.key.values { bytes += value.jsonBytes }
        for property in properties { bytes += property.utf8.count + 3 }
        for values in [tombstone, oldValues] {
            guard let values else { continue }
            for pair in values.pairs { bytes += pair.name.utf8.count + 4 + pair.value.jsonBytes }
            bytes += 160 * values.references.count
        }
        return bytes
    }

    /// The change with the largest of its values as references, so that the others take at most
    /// `bytesMax` bytes.
    ///
    /// - Complexity: O(values); O(values · log values) where there are references.
    func replacingLargeValues(beyond bytesMax: Int, of number: Int64) -> Change {
        guard tombstone != nil || oldValues != nil else { return self }
        var change = self
        change.tombstone = tombstone?.replacingLarge(beyond: bytesMax, of: number, seq: seq)
        change.oldValues = oldValues?.replacingLarge(beyond: bytesMax, of: number, seq: seq)
        return change
    }
}

extension Value {
    /// About how many bytes it takes as JSON.
    fileprivate var jsonBytes: Int {
        switch self {
        case .blob(let bytes): 14 + (bytes.count + 2) / 3 * 4
        case .text(let text): 4 + text.utf8.count
        case .null, .integer, .real: 20
        }
    }

    /// What a reference says of it; nil for a value that never becomes one.
    fileprivate var referable: (kind: ValueReference.Kind, bytes: Int)? {
        switch self {
        case .blob(let bytes): (.blob, bytes.count)
        case .text(let text): (.text, text.utf8.count)
        case .null, .integer, .real: nil
        }
    }
}

extension NamedValues {
    /// A reference takes about this much itself: smaller values are always sent.
    private static let referenceBytesMin = 256

    fileprivate func replacingLarge(
        beyond bytesMax: Int, of number: Int64, seq: Int64
    ) -> NamedValues {
        let sizes = pairs.map { $0.value.referable?.bytes ?? 0 }
        var total = sizes.reduce(0, +)
        guard total > bytesMax else { return self }
        var replaced: Set<Int> = []
        for index in pairs.indices.sorted(by: { sizes[$0] > sizes[$1] }) {
            guard total > bytesMax, sizes[index] > Self.referenceBytesMin else { break }
            replaced.insert(index)
            total -= sizes[index]
        }
        return NamedValues(
            pairs.indices.filter { !replaced.contains($0) }.map { pairs[$0] },
            references: replaced.sorted().compactMap { index in
                pairs[index].value.referable.map {
                    ValueReference(
                        transaction: number, change: seq, property: pairs[index].name,
                        kind: $0.kind, bytes: $0.bytes)
                }
            })
    }
}

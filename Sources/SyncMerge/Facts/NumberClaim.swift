import SyncValues

/// The claim of an object to a shared number: the content of a version of its number's cell.
///
/// What is stored and sent is the number as an integer, where the version's own transaction claims
/// it first; NULL for an object that claims none; and a blob where an earlier transaction of the
/// object had claimed the same number (it was deleted and inserted again: REPLACE): then the claim
/// is as old as that transaction.
package struct NumberClaim: Sendable, Hashable {
    /// The number; nil: none.
    package let number: Int64?
    /// When the object claimed it first.
    package let since: HybridTime
    /// The transaction that did.
    package let dot: Dot

    /// The first byte of a claim as a blob.
    private static let tag: UInt8 = 1

    /// Reads the claim of a version. What is no claim claims no number.
    package init(_ version: Version, in state: MergeState) {
        let own = (since: state.time(version.dot), dot: version.dot)
        guard case .value(let value)? = version.value.first else {
            self.init(number: nil, since: own.since, dot: own.dot)
            return
        }
        switch value {
        case .integer(let number): self.init(number: number, since: own.since, dot: own.dot)
        case .blob(let bytes):
            self = Self(bytes) ?? Self(number: nil, since: own.since, dot: own.dot)
        case .null, .real, .text: self.init(number: nil, since: own.since, dot: own.dot)
        }
    }

    private init(number: Int64?, since: HybridTime, dot: Dot) {
        self.number = number
        self.since = since
        self.dot = dot
    }

    private init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard (try? reader.byte()) == Self.tag, let time = try? reader.varint(),
            let dot = try? reader.dot(), let number = try? reader.signed(), reader.isAtEnd
        else { return nil }
        self.init(number: number, since: HybridTime(rawValue: time), dot: dot)
    }

    /// The claim as a value of a version of another transaction than ``dot``.
    fileprivate var packed: Value {
        var writer = ByteWriter()
        writer.append(byte: Self.tag)
        writer.append(varint: since.rawValue)
        writer.append(dot)
        writer.append(signed: number ?? 0)
        return .blob(writer.bytes)
    }

    /// Whether the claim comes before another one.
    func isEarlier(than other: Self) -> Bool { (since, dot) < (other.since, other.dot) }
}

extension MergeState {
    /// The claim of a version, by its name.
    func claim(_ id: VersionID) -> NumberClaim? {
        objects[id.object]?.cells[id.cell].first { $0.dot == id.dot }
            .map { NumberClaim($0, in: self) }
    }

    /// The value of a version that claims the number which a row has.
    ///
    /// A number that the row shows because it has none of its own is no claim. A number that the
    /// object has claimed already keeps the age of that claim: a row that has had its number for a
    /// year does not lose it to a concurrent insert because REPLACE wrote it again.
    /// - Parameters:
    ///   - name: the identity that the row is shown under.
    ///   - dot: the transaction of the version.
    func claimValue(
        _ value: Field, of uid: ObjectUID, shownAs name: ObjectUID, cell: Int, at dot: Dot
    ) -> Field {
        guard case .value(.integer(let number)) = value,
            !FallbackNumber.isFallback(number, of: name)
        else { return .value(.null) }
        let known = (objects[uid]?.cells[cell] ?? []).map { NumberClaim($0, in: self) }
            .filter { $0.number == number }
        guard let first = known.min(by: { $0.isEarlier(than: $1) }), first.dot != dot else {
            return value
        }
        return .value(first.packed)
    }
}

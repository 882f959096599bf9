import SyncValues

/// The state of a counter, a set or a text as the value of a version: a blob that begins with a
/// mark. A user's value that begins with the mark is packed, too, so no value can be taken for a
/// state.
///
/// A version without a state (an insert, or a value from before the policy was chosen) holds the
/// plain value.
package enum BlendCoding {
    private static let mark: [UInt8] = [0x00, 0x73, 0x79, 0x6e, 0x63, 0x64, 0x1a]

    /// What a packed value holds.
    package enum Kind: UInt8 {
        case plain = 0
        case counter = 1
        case set = 2
        case text = 3
    }

    /// A blob that holds a state.
    static func packed(as kind: Kind, body: (inout ByteWriter) -> Void) -> Value {
        var writer = ByteWriter()
        writer.append(raw: mark)
        writer.append(byte: kind.rawValue)
        body(&writer)
        return .blob(writer.bytes)
    }

    /// Whether a blob of these bytes is escaped.
    package static func escapes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: mark)
    }

    /// A user's value, escaped so that it cannot be taken for a state.
    static func escaped(_ value: Value) -> Value {
        guard case .blob(let bytes) = value, bytes.starts(with: mark) else { return value }
        return packed(as: .plain) { $0.append(value) }
    }

    /// The decoded value, where it was written under another policy.
    private static func decoded(_ value: Value, unless kind: Kind) -> Value {
        guard case .blob(let bytes) = value, bytes[mark.count] != kind.rawValue else {
            return value
        }
        return decoded(value)
    }

    /// The content of a version's value: a state of this kind, or else what a user wrote.
    static func unpacked<State>(
        _ value: Value, as kind: Kind, read: (inout ByteReader) throws -> State
    ) -> (state: State?, plain: Value) {
        guard case .blob(let bytes) = value, bytes.starts(with: mark) else { return (nil, value) }
        var reader = ByteReader(bytes)
        guard (try? reader.raw(mark.count)) != nil, let found = try? reader.byte() else {
            return (nil, value)
        }
        if found == Kind.plain.rawValue { return (nil, (try? reader.value()) ?? value) }
        guard found == kind.rawValue, let state = try? read(&reader), reader.isAtEnd else {
            return (nil, decoded(value, unless: kind))
        }
        return (state, value)
    }
}

extension BlendCoding {
    /// The value of a version where the transactions of a replica after `kept` get the name of a
    /// new one. The totals of counters keep theirs: what a replica added before and after cannot be
    /// told apart.
    package static func renamed(_ value: Value, after kept: Dot, to new: ReplicaID) -> Value {
        guard case .blob(let bytes) = value, bytes.count > mark.count, bytes.starts(with: mark),
            bytes[mark.count] == Kind.set.rawValue
        else { return value }
        var state = SetState(value, dot: unknownDot)
        state.rename(after: kept, to: new)
        return state.packed
    }

    /// The value as a reader of the table sees it, whatever policy it was written under.
    static func decoded(_ value: Value) -> Value {
        guard case .blob(let bytes) = value, bytes.count > mark.count, bytes.starts(with: mark)
        else { return value }
        switch Kind(rawValue: bytes[mark.count]) {
        case .counter:
            return CounterState(value, dot: unknownDot, time: HybridTime(rawValue: 0)).shown
        case .set: return SetState(value, dot: unknownDot).literal
        case .text, .plain: return TextState(value, dot: unknownDot).literal
        case nil: return value
        }
    }

    private static let unknownDot = Dot(ReplicaID(high: 0, low: 0), 0)
}

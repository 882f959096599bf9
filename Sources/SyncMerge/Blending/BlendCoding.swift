import SyncValues

/// The state of a counter, a set or a text as the value of a version: a blob with a mark that no
/// value of a user begins with, else it is packed like a state, too.
///
/// What a version says without a state (an insert, or a value from before the policy was chosen)
/// stands as it is.
enum BlendCoding {
    private static let mark: [UInt8] = [0x00, 0x73, 0x79, 0x6e, 0x63, 0x64, 0x1a]

    package enum Kind: UInt8 {
        case plain = 0
        case counter = 1
        case set = 2
        case text = 3
    }

    /// A blob that holds a state.
    static func packed(_ kind: Kind, _ body: (inout ByteWriter) -> Void) -> Value {
        var writer = ByteWriter()
        writer.append(raw: mark)
        writer.append(byte: kind.rawValue)
        body(&writer)
        return .blob(writer.bytes)
    }

    /// A value of a user, so that it cannot be taken for a state.
    static func plain(_ value: Value) -> Value {
        guard case .blob(let bytes) = value, bytes.starts(with: mark) else { return value }
        return packed(.plain) { $0.append(value) }
    }

    /// The policy was another one when the value was written.
    private static func spoken(_ value: Value, unless kind: Kind) -> Value {
        guard case .blob(let bytes) = value, bytes[mark.count] != kind.rawValue else {
            return value
        }
        return spoken(value)
    }

    /// What a version's value holds: a state of this kind, or else what a user wrote.
    static func unpacked<State>(
        _ value: Value, _ kind: Kind, _ read: (inout ByteReader) throws -> State
    ) -> (state: State?, plain: Value) {
        guard case .blob(let bytes) = value, bytes.starts(with: mark) else { return (nil, value) }
        var reader = ByteReader(bytes)
        guard (try? reader.raw(mark.count)) != nil, let found = try? reader.byte() else {
            return (nil, value)
        }
        if found == Kind.plain.rawValue { return (nil, (try? reader.value()) ?? value) }
        guard found == kind.rawValue, let state = try? read(&reader), reader.isAtEnd else {
            return (nil, spoken(value, unless: kind))
        }
        return (state, value)
    }
}

extension BlendCoding {
    /// What a person would read in a value, whatever policy it was written under.
    static func spoken(_ value: Value) -> Value {
        guard case .blob(let bytes) = value, bytes.count > mark.count, bytes.starts(with: mark)
        else { return value }
        switch Kind(rawValue: bytes[mark.count]) {
        case .counter: return CounterState(value, dot: nobody, time: HybridTime(rawValue: 0)).shown
        case .set: return SetState(value, dot: nobody).literal
        case .text, .plain: return TextState(value, dot: nobody).literal
        case nil: return value
        }
    }

    private static let nobody = Dot(ReplicaID(high: 0, low: 0), 0)
}

extension ByteWriter {
    package mutating func append(_ dot: Dot) {
        append(raw: dot.replica.bytes)
        append(varint: UInt64(bitPattern: dot.number))
    }
}

extension ByteReader {
    package mutating func dot() throws -> Dot {
        let replica = try replicaID()
        return Dot(replica, Int64(bitPattern: try varint()))
    }

    package mutating func replicaID() throws -> ReplicaID {
        guard let replica = ReplicaID(bytes: Array(try raw(16))) else {
            throw SyncError(.badData, "a replica's name has not 16 bytes")
        }
        return replica
    }

    /// Each item takes a byte at least: a count beyond the end stops there.
    package mutating func list<Item>(_ read: (inout ByteReader) throws -> Item) throws -> [Item] {
        var items: [Item] = []
        for _ in 0..<(try varint()) { items.append(try read(&self)) }
        return items
    }
}

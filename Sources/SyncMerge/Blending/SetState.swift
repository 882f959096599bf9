import SyncValues

/// The set of the elements of a JSON array: an element is present when it was added and no writer
/// that saw the addition removed it (an observed-remove set).
///
/// Each element has the dots of the transactions that added it, and the state has a vector of what
/// it has seen: an element that a state lacks although it has seen its addition was removed. An
/// addition that the remover had not seen stays.
///
/// Elements are equal when their texts are, white space between tokens aside. Order and repetitions
/// are those of the last write, if there are no concurrent ones.
struct SetState: Hashable {
    /// The text as it was written: shown while there is no other version to join.
    private(set) var literal: Value
    private var elements: [String: Set<Dot>] = [:]
    private var order: [String] = []
    private var seen = VersionVector()

    /// Reads the value of a version.
    init(_ value: Value, dot: Dot) {
        let (state, plain) = BlendCoding.unpacked(value, as: .set) { try Self(reading: &$0) }
        if let state {
            self = state
            return
        }
        literal = plain
        order = JSONArray.elements(plain) ?? []
        for element in order { elements[element] = [dot] }
        seen.advance(to: dot)
    }

    /// Whether the value is an array.
    var isArray: Bool { JSONArray.elements(literal) != nil }

    /// Joins the state of another version; both are arrays.
    mutating func join(_ other: Self) {
        var joined: [String: Set<Dot>] = [:]
        for element in Set(elements.keys).union(other.elements.keys) {
            let mine = elements[element] ?? []
            let theirs = other.elements[element] ?? []
            let dots = mine.intersection(theirs)
                .union(mine.filter { !other.seen.covers($0) })
                .union(theirs.filter { !seen.covers($0) })
            if !dots.isEmpty { joined[element] = dots }
        }
        let isSame = Set(joined.keys) == Set(elements.keys)
        var present = Set<String>()
        let kept = order.filter { joined[$0] != nil && present.insert($0).inserted }
        let rest = joined.keys.filter { !present.contains($0) }.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        elements = joined
        seen.join(other.seen)
        if !isSame {
            order = kept + rest
            literal = .text("[" + order.joined(separator: ",") + "]")
        }
    }

    /// Records a write of a writer that saw the state.
    mutating func write(_ value: Value, dot: Dot) {
        literal = value
        order = JSONArray.elements(value) ?? []
        var written: [String: Set<Dot>] = [:]
        for element in order { written[element] = elements[element] ?? [dot] }
        elements = written
        seen.advance(to: dot)
    }

    /// Names another replica as the writer of the transactions of one after `kept`.
    mutating func rename(after kept: Dot, to new: ReplicaID) {
        func renamed(_ dot: Dot) -> Dot {
            dot.replica == kept.replica && dot.number > kept.number ? Dot(new, dot.number) : dot
        }
        elements = elements.mapValues { Set($0.map(renamed)) }
        let newest = seen[kept.replica]
        guard newest > kept.number else { return }
        seen = VersionVector(seen.entries.filter { $0.replica != kept.replica })
        if kept.number > 0 { seen.advance(to: kept) }
        seen.advance(to: Dot(new, newest))
    }

    // MARK: Bytes

    private init(reading reader: inout ByteReader) throws {
        literal = try reader.value()
        order = JSONArray.elements(literal) ?? []
        for dot in try reader.list({ try $0.dot() }) { seen.advance(to: dot) }
        let dots = try reader.list { try $0.list { try $0.dot() } }
        var known: [String] = []
        for element in order where elements[element] == nil {
            elements[element] = []
            known.append(element)
        }
        guard dots.count == known.count else {
            throw SyncError(.badData, "a set has more elements than its text")
        }
        for (element, dots) in zip(known, dots) { elements[element] = Set(dots) }
    }

    /// The value of a version.
    var packed: Value {
        BlendCoding.packed(as: .set) { writer in
            writer.append(literal)
            writer.append(varint: UInt64(seen.entries.count))
            for dot in seen.entries { writer.append(dot) }
            var known: Set<String> = []
            let distinct = order.filter { known.insert($0).inserted }
            writer.append(varint: UInt64(distinct.count))
            for element in distinct {
                let dots = (elements[element] ?? []).sorted()
                writer.append(varint: UInt64(dots.count))
                for dot in dots { writer.append(dot) }
            }
        }
    }
}

import SyncValues

/// The set of the elements of a JSON array: what anybody added and nobody who saw it removed.
///
/// Each element carries the transactions that added it, and the state knows up to which transaction
/// of each replica it has seen the set: an element that one state lacks although it has seen its
/// adding was removed. An adding that the remover had not seen stands.
///
/// Elements are equal when their texts are, white space between tokens aside. Order and repetitions
/// are those of the person who wrote last, as long as nobody wrote at the same time.
struct SetState: Hashable {
    /// The text as it was written: shown while no other version has to be joined.
    private(set) var literal: Value
    private var elements: [String: Set<Dot>] = [:]
    private var order: [String] = []
    private var seen = VersionVector()

    /// What a version says.
    init(_ value: Value, dot: Dot) {
        let (state, plain) = BlendCoding.unpacked(value, .set) { try Self(reading: &$0) }
        if let state {
            self = state
            return
        }
        literal = plain
        order = JSONArray.elements(plain) ?? []
        for element in order { elements[element] = [dot] }
        seen.advance(to: dot)
    }

    /// Whether it is an array at all.
    var isArray: Bool { JSONArray.elements(literal) != nil }

    /// Takes what another version knows, too; both are arrays.
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

    /// A person who saw the state writes a value.
    mutating func write(_ value: Value, dot: Dot) {
        literal = value
        order = JSONArray.elements(value) ?? []
        var written: [String: Set<Dot>] = [:]
        for element in order { written[element] = elements[element] ?? [dot] }
        elements = written
        seen.advance(to: dot)
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
        BlendCoding.packed(.set) { writer in
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

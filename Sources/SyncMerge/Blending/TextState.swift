import SyncValues

/// A text that merges by lines, with some of its ancestors: two versions are merged from their
/// latest common ancestor.
///
/// Invariant: the writer of the text had seen every ancestor; the latest is the first. Of a long
/// series of saves by one replica those in the middle are dropped first: an older ancestor merges
/// more coarsely, not wrongly.
struct TextState: Hashable {
    struct Ancestor: Hashable {
        let replica: ReplicaID
        let text: String
    }

    /// The limit of ancestors of one version.
    private static let ancestorsMax = 5
    /// The limit of bytes of a text with ancestors: of longer ones the last version is shown.
    private static let bytesMax = 65_536

    /// The text as it was written, or a value that is no text.
    let literal: Value
    private let replica: ReplicaID
    private var ancestors: [Ancestor] = []

    /// Reads the value of a version.
    init(_ value: Value, dot: Dot) {
        replica = dot.replica
        let (state, plain) = BlendCoding.unpacked(value, as: .text) { reader in
            (try reader.value(), try reader.list(Self.ancestor))
        }
        literal = state?.0 ?? plain
        ancestors = state?.1 ?? []
    }

    /// The state of a write whose writer saw `shown`, where `last` is the latest version.
    init(_ value: Value, dot: Dot, over last: Self, shown: Value) {
        replica = dot.replica
        literal = value
        guard case .text(let text) = shown, text.utf8.count <= Self.bytesMax else { return }
        ancestors = last.ancestors.filter { $0.text != text }
        ancestors.insert(Ancestor(replica: last.replica, text: text), at: 0)
        while ancestors.count > Self.ancestorsMax {
            let middle = ancestors.indices.dropFirst().dropLast().first {
                ancestors[$0].replica == ancestors[$0 - 1].replica
            }
            ancestors.remove(at: middle ?? ancestors.count - 2)
        }
    }

    /// The text and its ancestors, the latest first.
    private var past: [String] {
        guard case .text(let text) = literal else { return [] }
        return [text] + ancestors.map(\.text)
    }

    /// Merges several versions to one text.
    /// - Parameter versions: the latest first.
    /// - Returns: the value, and for each version whether all of it is included; nil when they have
    ///   no common ancestor.
    static func merged(_ versions: [Self]) -> (value: Value, isWhole: [Bool])? {
        guard let first = versions.first, case .text(var text) = first.literal else { return nil }
        let others = versions.dropFirst()
        let pasts = others.map { Set($0.past) }
        guard let base = first.past.first(where: { text in pasts.allSatisfy { $0.contains(text) } })
        else { return nil }
        var isWhole = [true]
        for other in others {
            guard case .text(let theirs) = other.literal,
                let merge = LineMerge.merge(base: base, ours: text, theirs: theirs)
            else {
                isWhole.append(false)
                continue
            }
            text = merge.text
            isWhole.append(merge.isWhole)
        }
        return (.text(text), isWhole)
    }

    // MARK: Bytes

    private static func ancestor(_ reader: inout ByteReader) throws -> Ancestor {
        let replica = try reader.replicaID()
        let text = String(decoding: try reader.counted(), as: UTF8.self)
        return Ancestor(replica: replica, text: text)
    }

    /// The value of a version.
    var packed: Value {
        if ancestors.isEmpty { return BlendCoding.escaped(literal) }
        return BlendCoding.packed(as: .text) { writer in
            writer.append(literal)
            writer.append(varint: UInt64(ancestors.count))
            for ancestor in ancestors {
                writer.append(ancestor.replica)
                writer.append(counted: Array(ancestor.text.utf8))
            }
        }
    }
}

import SyncValues

/// A text that merges by lines, with some of the texts that it came from: two versions are merged
/// from the latest text that both came from.
///
/// Invariant: every ancestor was seen by whoever wrote the text; the latest one stands first. Of
/// long rows of saves by one replica those in the middle are forgotten first: an older ancestor
/// merges more coarsely, not wrongly.
struct TextState: Hashable {
    struct Ancestor: Hashable {
        let replica: ReplicaID
        let text: String
    }

    /// Ancestors of one version.
    private static let ancestorsMax = 5
    /// Bytes of a text that has ancestors: longer ones are shown as they were written last.
    private static let bytesMax = 65_536

    /// The text as it was written, or a value that is no text.
    let literal: Value
    private let replica: ReplicaID
    private var ancestors: [Ancestor] = []

    /// What a version says.
    init(_ value: Value, dot: Dot) {
        replica = dot.replica
        let (state, plain) = BlendCoding.unpacked(value, .text) { reader in
            (try reader.value(), try reader.list(Self.ancestor))
        }
        literal = state?.0 ?? plain
        ancestors = state?.1 ?? []
    }

    /// What a person writes who saw `shown` in place of the last one of these versions.
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

    /// The text and what it came from, the latest first.
    private var past: [String] {
        guard case .text(let text) = literal else { return [] }
        return [text] + ancestors.map(\.text)
    }

    /// One text of several versions.
    /// - Parameter versions: the latest first.
    /// - Returns: the value, and for each of the versions whether all of it is in there; nil when
    ///   they have nothing in common.
    static func merged(_ versions: [Self]) -> (value: Value, isWhole: [Bool])? {
        guard let first = versions.first, case .text(var text) = first.literal else { return nil }
        let others = versions.dropFirst()
        let pasts = others.map { Set($0.past) }
        guard let base = first.past.first(where: { text in pasts.allSatisfy { $0.contains(text) } })
        else { return nil }
        var isWhole = [true]
        for other in others {
            guard case .text(let theirs) = other.literal,
                let merge = LineMerge.merge(base: base, text, theirs)
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
        if ancestors.isEmpty { return BlendCoding.plain(literal) }
        return BlendCoding.packed(.text) { writer in
            writer.append(literal)
            writer.append(varint: UInt64(ancestors.count))
            for ancestor in ancestors {
                writer.append(raw: ancestor.replica.bytes)
                writer.append(counted: Array(ancestor.text.utf8))
            }
        }
    }
}

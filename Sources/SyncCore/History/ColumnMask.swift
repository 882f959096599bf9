/// A set of column positions: which properties an update changed.
package struct ColumnMask: Hashable, Sendable {
    /// 63 positions in each word, as the capture triggers make them: bit 63 would be the sign.
    package static let bitsPerWord = 63

    package private(set) var words: [UInt64]

    package init(words: [UInt64] = []) { self.words = words }

    /// Those of the words' positions that are below `count`.
    package init(words: [UInt64], below count: Int) {
        self.words = words
        for index in words.indices {
            let rest = count - index * Self.bitsPerWord
            if rest < Self.bitsPerWord { self.words[index] &= (1 << UInt64(max(0, rest))) - 1 }
        }
    }

    /// Every position below `count`.
    package init(all count: Int) {
        words = []
        for position in 0..<count { insert(position) }
    }

    package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    package mutating func insert(_ position: Int) {
        let word = position / Self.bitsPerWord
        while words.count <= word { words.append(0) }
        words[word] |= 1 << UInt64(position % Self.bitsPerWord)
    }

    package mutating func formUnion(_ other: ColumnMask) {
        while words.count < other.words.count { words.append(0) }
        for index in other.words.indices { words[index] |= other.words[index] }
    }

    package mutating func subtract(_ other: ColumnMask) {
        for index in words.indices where index < other.words.count {
            words[index] &= ~other.words[index]
        }
    }

    package func contains(_ position: Int) -> Bool {
        let word = position / Self.bitsPerWord
        return word < words.count && words[word] >> UInt64(position % Self.bitsPerWord) & 1 == 1
    }

    /// The positions in ascending order.
    package var positions: [Int] {
        var positions: [Int] = []
        for (index, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                positions.append(index * Self.bitsPerWord + rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }
        return positions
    }
}

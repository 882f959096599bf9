/// The three-way merge of texts by lines.
enum LineMerge {
    /// The limit of comparisons of one merge: beyond that nothing is merged.
    private static let comparisonsMax = 4_000_000

    /// A run of lines of the base, and what a side has in its place.
    private struct Hunk {
        let base: Range<Int>
        let side: Range<Int>
    }

    /// Merges the changes of two sides.
    /// - Returns: the text, and whether all changes of `theirs` are in it: where both changed the
    ///   same lines, those of `ours` are kept. Nil when the texts are too long for that.
    /// - Complexity: O(lines of the base × lines of a side), without what is equal at both ends
    static func merge(
        base: String, ours: String, theirs: String
    ) -> (text: String, isWhole: Bool)? {
        if ours == theirs || base == theirs { return (ours, true) }
        if base == ours { return (theirs, true) }
        let lines = (split(base), split(ours), split(theirs))
        guard let mine = hunks(from: lines.0, to: lines.1),
            let other = hunks(from: lines.0, to: lines.2)
        else {
            return nil
        }
        var isWhole = true
        let accepted = other.filter { hunk in
            let rivals = mine.filter { touches($0.base, with: hunk.base) }
            if rivals.isEmpty { return true }
            let isSame = rivals.contains {
                $0.base == hunk.base && lines.1[$0.side] == lines.2[hunk.side]
            }
            if !isSame { isWhole = false }
            return false
        }
        var result: [Substring] = []
        var place = 0
        let changes = mine.map { ($0, lines.1) } + accepted.map { ($0, lines.2) }
        for (hunk, side) in changes.sorted(by: { $0.0.base.lowerBound < $1.0.base.lowerBound }) {
            result += lines.0[place..<hunk.base.lowerBound]
            result += side[hunk.side]
            place = hunk.base.upperBound
        }
        result += lines.0[place...]
        return (result.joined(separator: "\n"), isWhole)
    }

    private static func split(_ text: String) -> [Substring] {
        text.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Whether two runs of the base share a line, or begin at one place.
    private static func touches(_ left: Range<Int>, with right: Range<Int>) -> Bool {
        left.lowerBound == right.lowerBound || left.overlaps(right)
            || (left.isEmpty && right.contains(left.lowerBound))
            || (right.isEmpty && left.contains(right.lowerBound))
    }

    /// What a side changed.
    private static func hunks(from base: [Substring], to side: [Substring]) -> [Hunk]? {
        var start = 0
        while start < base.count, start < side.count, base[start] == side[start] { start += 1 }
        var ends = (base.count, side.count)
        while ends.0 > start, ends.1 > start, base[ends.0 - 1] == side[ends.1 - 1] {
            ends = (ends.0 - 1, ends.1 - 1)
        }
        let left = Array(base[start..<ends.0])
        let right = Array(side[start..<ends.1])
        guard let pairs = commonLines(of: left, and: right) else { return nil }
        var hunks: [Hunk] = []
        var place = (0, 0)
        for pair in pairs + [(left.count, right.count)] {
            if pair.0 > place.0 || pair.1 > place.1 {
                hunks.append(
                    Hunk(
                        base: start + place.0..<start + pair.0,
                        side: start + place.1..<start + pair.1))
            }
            place = (pair.0 + 1, pair.1 + 1)
        }
        return hunks
    }

    /// A longest common subsequence, as pairs of positions.
    private static func commonLines(of left: [Substring], and right: [Substring]) -> [(Int, Int)]? {
        guard left.count * right.count <= comparisonsMax else { return nil }
        let width = right.count + 1
        var lengths = [Int32](repeating: 0, count: (left.count + 1) * width)
        for row in stride(from: left.count - 1, through: 0, by: -1) {
            for column in stride(from: right.count - 1, through: 0, by: -1) {
                let place = row * width + column
                lengths[place] =
                    left[row] == right[column]
                    ? lengths[place + width + 1] + 1
                    : max(lengths[place + width], lengths[place + 1])
            }
        }
        var pairs: [(Int, Int)] = []
        var (row, column) = (0, 0)
        while row < left.count, column < right.count {
            let place = row * width + column
            if left[row] == right[column] {
                pairs.append((row, column))
                (row, column) = (row + 1, column + 1)
            } else if lengths[place + width] >= lengths[place + 1] {
                row += 1
            } else {
                column += 1
            }
        }
        return pairs
    }
}

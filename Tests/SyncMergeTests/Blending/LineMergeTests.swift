import SyncTesting
import Testing

@testable import SyncMerge

@Suite struct LineMergeTests {
    /// Texts whose lines are single letters; the merge as such a text, with `!` where changes of
    /// `theirs` are missing.
    private func merge(_ base: String, ours: String, theirs: String) -> String? {
        func lines(_ letters: String) -> String { letters.map(String.init).joined(separator: "\n") }
        guard
            let (text, isWhole) = LineMerge.merge(
                base: lines(base), ours: lines(ours), theirs: lines(theirs))
        else { return nil }
        return text.split(separator: "\n", omittingEmptySubsequences: false).joined()
            + (isWhole ? "" : "!")
    }

    @Test func changesOfDifferentLinesAreJoined() {
        #expect(merge("abcde", ours: "Abcde", theirs: "abcdE") == "AbcdE")
        #expect(merge("abc", ours: "xabc", theirs: "abcy") == "xabcy")
        #expect(merge("abcde", ours: "acde", theirs: "abce") == "ace")
    }

    @Test func aSideThatChangedNothingGivesWay() {
        #expect(merge("abc", ours: "abc", theirs: "axc") == "axc")
        #expect(merge("abc", ours: "axc", theirs: "abc") == "axc")
    }

    @Test func theSameChangeIsMadeOnce() {
        #expect(merge("abc", ours: "axc", theirs: "axc") == "axc")
        #expect(merge("abcde", ours: "axcde", theirs: "axcdy") == "axcdy")
    }

    @Test func ofChangesToTheSameLinesOursStays() {
        #expect(merge("abc", ours: "axc", theirs: "ayc") == "axc!")
        #expect(merge("abcd", ours: "axd", theirs: "abyd") == "axd!")
        #expect(merge("ab", ours: "axb", theirs: "ayb") == "axb!", "two inserts at one place")
        #expect(merge("abcde", ours: "axcde", theirs: "aycdz") == "axcdz!", "the rest is joined")
    }

    @Test func deletedAndChangedLinesAreAConflict() {
        #expect(merge("abc", ours: "ac", theirs: "axc") == "ac!")
    }

    @Test func whatIsTooLongIsNotMerged() {
        let base = (0..<2100).map { "b\($0)" }.joined(separator: "\n")
        let ours = (0..<2100).map { "o\($0)" }.joined(separator: "\n")
        let theirs = (0..<2100).map { "t\($0)" }.joined(separator: "\n")
        #expect(LineMerge.merge(base: base, ours: ours, theirs: theirs) == nil)
    }

    /// Where all changes are in it, the merge is the same from either side, and merging it again
    /// with a side changes nothing.
    @Test func randomTexts() {
        let seed = TestSeed.drawn()
        var random = seed.random
        var whole = 0
        for _ in 0..<2000 {
            let letters = (0..<random.below(12)).map { _ in random.pick(["a", "b", "c", "d"]) }
            let sides = (0..<2).map { _ in edited(letters, &random).joined() }
            let base = letters.joined()
            let one = merge(base, ours: sides[0], theirs: sides[1])
            let other = merge(base, ours: sides[1], theirs: sides[0])
            #expect(one?.hasSuffix("!") == other?.hasSuffix("!"), "\(seed): \(base) \(sides)")
            guard let one, !one.hasSuffix("!") else { continue }
            whole += 1
            #expect(one == other, "\(seed): \(base) \(sides)")
            #expect(merge(sides[0], ours: one, theirs: sides[0]) == one)
        }
        #expect(whole > 200, "\(seed)")
    }

    private func edited(_ letters: [String], _ random: inout SeededRandom) -> [String] {
        var letters = letters
        for _ in 0..<random.below(3) {
            let place = random.below(letters.count + 1)
            switch random.below(3) {
            case 0: letters.insert(random.pick(["x", "y", "z"]), at: place)
            case 1 where place < letters.count: letters[place] = random.pick(["x", "y", "z"])
            default: if place < letters.count { letters.remove(at: place) }
            }
        }
        return letters
    }
}

import Testing

@testable import SyncObjects

/// Text in memory compares as in SQL.
@Suite struct TextMatchingTests {
    @Test(arguments: [
        ("abc", "a*", true), ("abc", "a?c", true), ("abc", "?", false), ("", "*", true),
        ("a*c", "a\\*c", true), ("abc", "a\\*c", false), ("aXbXc", "*X*X*", true),
        ("abc", "*d", false),
    ])
    func patterns(text: String, pattern: String, isMatch: Bool) {
        #expect(TextMatching.like(text, pattern: pattern) == isMatch)
    }

    @Test func textComparesByItsBytes() {
        #expect(!TextMatching.isEqual("é", to: "e\u{301}"))
        #expect(TextMatching.isLess("Z", than: "a"))
        #expect(TextMatching.contains("abc", part: ""))
        #expect(TextMatching.begins("abc", with: "ab") && TextMatching.ends("abc", with: "bc"))
        #expect(
            TextMatching.folded("ÄB", options: [.caseInsensitive, .diacriticInsensitive]) == "ab")
    }

    @Test func anExpressionMatchesTheWholeText() {
        #expect(TextMatching.matches("abc", pattern: "a.c", options: []))
        #expect(!TextMatching.matches("abcd", pattern: "a.c", options: []))
        #expect(TextMatching.matches("ABC", pattern: "a.c", options: .caseInsensitive))
        #expect(!TextMatching.matches("abc", pattern: "(", options: []))
    }
}

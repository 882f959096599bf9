import SyncTesting
import Testing

@testable import SyncStorage

@Suite struct SQLTokensTests {
    private func texts(_ sql: String) -> [String] { SQLTokens(sql).tokens.map(\.text) }

    @Test func quotedTextIsOneToken() {
        #expect(
            texts("a 'b c' \"d e\" `f g` [h i]") == ["a", "'b c'", "\"d e\"", "`f g`", "[h i]"])
        #expect(texts("'it''s' \"a\"\"b\" [a]]") == ["'it''s'", "\"a\"\"b\"", "[a]", "]"])
    }

    @Test func commentsAreLeftOut() {
        #expect(texts("a--, b\nc/* d, ( */e") == ["a", "c", "e"])
        #expect(texts("a /* no end") == ["a"])
        #expect(texts("'--' -") == ["'--'", "-"])
    }

    @Test func itemsAreCutAtCommasOfTheirLevel() throws {
        let tokens = SQLTokens("CREATE TABLE t(a TEXT DEFAULT (f(1, 2)), b CHECK(b IN (1,2)), ',')")
        let open = try #require(tokens.tokens.firstIndex { $0.text == "(" })
        let close = try #require(tokens.close(of: open))
        #expect(close == tokens.tokens.count - 1)
        let items = tokens.items(between: open, and: close).map { tokens.text($0) }
        #expect(items == ["a TEXT DEFAULT (f(1, 2))", "b CHECK(b IN (1,2))", "','"])
    }

    @Test func aParenthesisThatIsNotClosedHasNoEnd() {
        #expect(SQLTokens("a(b(c)").close(of: 1) == nil)
    }

    /// Tokens cover the text in order, whatever it is: no byte is in two, no token is empty.
    @Test func tokensOfAnyTextAscend() {
        let seed = TestSeed.drawn()
        var random = seed.random
        let parts = [
            "'", "\"", "`", "[", "]", "(", ")", ",", "--", "/*", "*/", "\n", " ", "a", "ü", "1",
        ]
        for _ in 0..<1000 {
            let sql = (0..<random.below(20)).map { _ in random.pick(parts) }.joined()
            let tokens = SQLTokens(sql)
            var end = 0
            for token in tokens.tokens {
                #expect(token.range.lowerBound >= end && !token.range.isEmpty, "\(seed): \(sql)")
                end = token.range.upperBound
            }
            #expect(end <= sql.utf8.count, "\(seed): \(sql)")
        }
    }
}

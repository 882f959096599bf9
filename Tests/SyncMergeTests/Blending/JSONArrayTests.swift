import Testing

@testable import SyncMerge
@testable import SyncValues

@Suite struct JSONArrayTests {
    @Test func elementsAreTextsWithoutTheSpaceBetweenTokens() {
        #expect(JSONArray.elements("[]") == [])
        #expect(
            JSONArray.elements(" [ 1 , \"a b\" ,{ \"k\" : [ 2 , 3 ] } ]\n") == [
                "1", "\"a b\"", "{\"k\":[2,3]}",
            ])
        #expect(
            JSONArray.elements("[0.10,1e400,12345678901234567890]") == [
                "0.10", "1e400", "12345678901234567890",
            ])
    }

    @Test func quotesAndBracketsInTextAreText() {
        #expect(JSONArray.elements(#"["a,\"]","b\\"]"#) == [#""a,\"]""#, #""b\\""#])
    }

    @Test(arguments: [
        "", "1", "{}", "[", "[1", "[1,]", "[,1]", "[1]]", "[1] 2", "[1 2]", "[\"a]", "[1}",
    ])
    func whatIsNoArrayHasNoElements(text: String) {
        #expect(JSONArray.elements(.text(text)) == nil)
    }

    @Test func onlyTextIsAnArray() {
        #expect(JSONArray.elements(.null) == nil)
        #expect(JSONArray.elements(.blob(Array("[]".utf8))) == nil)
    }
}

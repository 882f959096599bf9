import Testing

@testable import SyncValues

@Suite struct ValueTests {
    @Test func descriptionIsAnSQLLiteral() {
        #expect(Value.text("it's").description == "'it''s'")
        #expect(Value.blob([0, 255]).description == "X'00FF'")
        #expect(Value.null.description == "NULL")
    }

    @Test func integerAndRealOfEqualSizeDiffer() {
        #expect(Value.integer(1) != .real(1))
    }

    @Test func textIsEqualByItsBytesAlone() {
        let composed = Value.text("\u{e9}")
        let decomposed = Value.text("e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, composed]).count == 2)
        #expect(ObjectKey(composed) != ObjectKey(decomposed))
    }
}

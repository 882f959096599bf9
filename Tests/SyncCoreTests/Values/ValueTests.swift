import Testing

@testable import SyncCore

@Suite struct ValueTests {
    @Test func descriptionIsAnSQLLiteral() {
        #expect(Value.text("it's").description == "'it''s'")
        #expect(Value.blob([0, 255]).description == "X'00FF'")
        #expect(Value.null.description == "NULL")
    }

    @Test func integerAndRealOfEqualSizeDiffer() {
        #expect(Value.integer(1) != .real(1))
    }
}

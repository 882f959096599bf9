import Testing

@testable import SyncCore
@testable import SyncValues

@Suite struct TokenTests {
    private let token = Token(
        store: .random(), epoch: 3, number: 99, time: Timestamp(milliseconds: 1_767_225_600_123))

    @Test func textIsReadBack() throws {
        #expect(try Token(token.description) == token)
    }

    @Test(arguments: [
        "", "1", "x", "2.0.0.0.0", "1.zz.1.1.1", "1.00112233445566778899aabbccddeeff.1.-1.0",
    ])
    func nonsenseIsRefused(text: String) {
        #expect(throws: SyncError(.invalidToken, "")) { try Token(text) }
    }

    @Test func anotherTimeIsAnotherToken() {
        let other = Token(
            store: token.store, epoch: 3, number: 99, time: Timestamp(milliseconds: 0))
        #expect(other != token)
    }
}

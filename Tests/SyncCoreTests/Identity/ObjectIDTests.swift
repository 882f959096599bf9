import Testing

@testable import SyncCore
@testable import SyncValues

@Suite struct ObjectIDTests {
    private static let keys: [ObjectKey] = [
        ObjectKey(348), ObjectKey(-1), ObjectKey("348"), ObjectKey("a/b,c%d#e"), ObjectKey(""),
        ObjectKey("s:x"), ObjectKey("Grüße, 世界"), ObjectKey(.blob([0, 255])), ObjectKey(.blob([])),
        ObjectKey(1.5), ObjectKey(.null), ObjectKey([1, 3402]), ObjectKey(["a,b", .null, "-7"]),
    ]

    @Test(arguments: keys) func pathIsReadBack(key: ObjectKey) throws {
        let id = ObjectID(store: .random(), entity: "My Table/2", key: key, incarnation: 7)
        let parsed = try #require(ObjectID.parse(path: id.path))
        #expect(parsed.entity == "My Table/2")
        #expect(parsed.key == key)
        #expect(ObjectID(uri: id.description) == id)
    }

    @Test func integerKeysReadAsPeopleWriteThem() {
        let id = ObjectID(store: .random(), entity: "Album", key: ObjectKey(348))
        #expect(id.path == "Album/348")
    }

    @Test(arguments: ["", "Album", "/1", "Album/x:zz", "Album/%4", "Album/q:1"])
    func nonsenseIsRefused(text: String) {
        #expect(ObjectID.parse(path: text) == nil)
    }
}

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

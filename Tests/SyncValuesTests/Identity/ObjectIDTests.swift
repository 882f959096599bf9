import Testing

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

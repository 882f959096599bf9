import Testing

@testable import SyncObjects

@Suite struct NameIndexTests {
    @Test(arguments: [0, 1, 16, 17, 200])
    func shortAndLongListsAgree(count: Int) {
        let names = (0..<count).map { "name\($0)" }
        let index = NameIndex(names)
        for (place, name) in names.enumerated() { #expect(index[name] == place) }
        #expect(index["other"] == nil)
    }
}

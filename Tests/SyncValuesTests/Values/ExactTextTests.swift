import Foundation
import Testing

@testable import SyncValues

/// Texts that Swift takes for equal are two keys.
@Suite struct ExactTextTests {
    static let pairs = [
        ("\u{e9}", "e\u{301}"), ("K", "\u{212a}"), ("\u{c5}", "\u{212b}"), (";", "\u{37e}"),
        ("q\u{323}\u{307}", "q\u{307}\u{323}"),
    ]

    @Test(arguments: pairs) func equivalentTextsAreTwoKeys(first: String, second: String) {
        #expect(first == second, "as Swift compares them")
        #expect(ExactText(first) != ExactText(second))
        #expect((ExactText(first) < ExactText(second)) != (ExactText(second) < ExactText(first)))
        var map: ExactMap<Int> = [first: 1]
        map[second, default: 5] += 1
        #expect(map[first] == 1 && map[second] == 6 && map.count == 2)
        map[first]? += 10
        #expect(map[first] == 11)
        #expect(Set(map.map(\.value)) == [11, 6])
        #expect(map.filter { $0.key.utf8.elementsEqual(second.utf8) }.values.map(\.self) == [6])
        #expect(map.removeValue(forKey: first) == 11 && map[second] == 6)
        map[second] = nil
        #expect(map.isEmpty)
        var set: ExactSet = [first]
        #expect(set.insert(second) && !set.insert(first) && set.count == 2)
        set.remove(first)
        #expect(!set.contains(first) && set.contains(second))
    }

    /// Files of earlier versions have objects, and so has every file without such texts.
    @Test func aMapIsCodedAsAnObjectWhereItCanBe() throws {
        func coded(_ map: ExactMap<Int>) throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            let data = try encoder.encode(map)
            #expect(try JSONDecoder().decode(ExactMap<Int>.self, from: data) == map)
            return String(decoding: data, as: UTF8.self)
        }
        #expect(try coded([:]) == "{}")
        #expect(try coded(["b": 2, "\u{e9}": 1]) == #"{"b":2,"\#u{e9}":1}"#)
        #expect(
            try coded(["e\u{301}": 2, "\u{e9}": 1])
                == #"[{"key":"e\#u{301}","value":2},{"key":"\#u{e9}","value":1}]"#)
    }

    @Test(arguments: pairs) func equivalentNamesOfASchemaAreFound(
        first: String, second: String
    ) throws {
        for names in [[first, second], ["a", second, "b", first], [first, "x", second, first]] {
            let found = try #require(AmbiguousNames.pair(in: names))
            #expect(!found.0.hasBytes(of: found.1) && found.0 == found.1)
        }
        #expect(AmbiguousNames.pair(in: [first, first, "a" + second]) == nil)
        let error = #expect(throws: SyncError.self) {
            try AmbiguousNames.refuse([first, second], in: "two tables have")
        }
        #expect(error?.code == .cannotTrack && error?.reason.contains("U+") ?? false)
    }

    /// What differs in SQLite, and here too, is no pair.
    @Test func namesThatAreOnlySimilarAreNone() {
        #expect(
            AmbiguousNames.pair(in: ["\u{e9}", "\u{c9}", "e", "E", "K", "\u{fb01}", "fi"]) == nil)
        #expect(AmbiguousNames.pair(in: ["K", "k", "a", "A"]) == nil, "one name for SQLite")
    }

    /// Names are compared without the case of ASCII letters, too.
    @Test func caseMakesNoDifference() {
        #expect(AmbiguousNames.pair(in: ["X\u{e9}", "xe\u{301}"]) != nil)
        #expect(AmbiguousNames.pair(in: ["\u{e9}", "E\u{301}"]) != nil)
    }
}

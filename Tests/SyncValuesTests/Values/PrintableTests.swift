import Testing

@testable import SyncValues

@Suite struct PrintableTests {
    @Test func controlCharactersAreEscaped() {
        #expect("a\u{1b}[31m\n".printable(countMax: 99) == "a\\u{1b}[31m\\u{a}")
        // Marks that turn the direction of text, and lines that a terminal breaks.
        #expect("\u{202e}x\u{2028}".printable(countMax: 99) == "\\u{202e}x\\u{2028}")
    }

    @Test func readableTextStays() {
        #expect("Grüße, 世界 🎵".printable(countMax: 99) == "Grüße, 世界 🎵")
    }

    @Test func aLongTextIsCutWithAnEllipsis() {
        #expect("abcd".printable(countMax: 4) == "abcd")
        #expect("abcde".printable(countMax: 4) == "abcd…")
    }
}

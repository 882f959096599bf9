import Testing

@testable import SyncValues

@Suite struct HexTests {
    @Test func everyByteIsReadBack() {
        let bytes = Array(UInt8.min...UInt8.max)
        #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        #expect(Hex.decode(Hex.encode(bytes, uppercase: true)) == bytes)
    }

    @Test func everyByteHasTwoDigits() {
        #expect(Hex.encode([0, 0x0a, 0xff]) == "000aff")
        #expect(Hex.encode([0, 0x0a, 0xff], uppercase: true) == "000AFF")
        #expect(Hex.encode([]) == "")
    }

    @Test(arguments: ["0", "000", "0g", " 0", "0x", "-1", "00 ", "\u{661}\u{661}"])
    func nonsenseIsRefused(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}

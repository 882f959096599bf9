/// Which keys of one transaction may have several rows: a table of bits, where a key of one row may
/// be taken for one of several, and never the other way round.
///
/// One key in some eight that has one row shares its place in the table with another one.
struct KeyMarks {
    /// Places in the table for each row, of two bits each: never, once, several times.
    private static let placesPerRow: Int64 = 8
    /// Beyond that number of rows places are shared by more keys.
    private static let rowsMax: Int64 = 1 << 24

    private var bytes: [UInt8]
    private let placeCount: UInt
    /// How many rows were noted whose keys may have one already: keys with several rows have twice
    /// as many at most.
    private(set) var repeatedCount: Int64 = 0

    /// - Parameter rowsMax: no more rows are noted. It takes two bytes for each.
    init(rowsMax: Int64) {
        let rows = max(1, min(rowsMax, Self.rowsMax))
        placeCount = UInt(rows * Self.placesPerRow)
        bytes = [UInt8](repeating: 0, count: Int(rows * Self.placesPerRow / 4))
    }

    /// Notes a row of the key with this hash.
    mutating func note(_ hash: Int) {
        let (byte, shift) = place(of: hash)
        // Once is 01, several times is 11.
        let isKnown = bytes[byte] >> shift & 1
        bytes[byte] |= (isKnown << 1 | 1) << shift
        repeatedCount += Int64(isKnown)
    }

    /// Whether the key with this hash may have several rows.
    func mayRepeat(_ hash: Int) -> Bool {
        let (byte, shift) = place(of: hash)
        return bytes[byte] >> shift & 2 != 0
    }

    private func place(of hash: Int) -> (byte: Int, shift: UInt8) {
        let place = UInt(bitPattern: hash).multipliedFullWidth(by: placeCount).high
        return (Int(place / 4), UInt8(place % 4) * 2)
    }
}

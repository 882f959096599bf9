/// The index of each name in a list. Short lists are scanned, which is faster than hashing: a
/// property is looked up at each access.
struct NameIndex: Sendable {
    private let names: [String]
    private let places: [String: Int]

    /// The longest list that is scanned.
    private static let scannedMax = 16

    init(_ names: [String]) {
        self.names = names.count > Self.scannedMax ? [] : names
        places =
            names.count > Self.scannedMax
            ? Dictionary(
                names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
            : [:]
    }

    subscript(name: String) -> Int? {
        places.isEmpty ? names.firstIndex(of: name) : places[name]
    }
}

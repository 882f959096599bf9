/// Names of one schema that this program cannot tell apart: canonically equivalent texts, such as
/// a composed and a decomposed letter, or the letter K and the sign of the unit kelvin.
///
/// To SQLite they are two names. Here names of tables and columns are compared as Swift compares
/// texts, and what belongs to one would be shown and written as the other's. A schema with such a
/// pair is therefore refused as a whole, until one of the two is renamed.
package enum AmbiguousNames {
    /// The first two names that are equal here and not in SQLite; nil when there are none.
    /// - Complexity: O(bytes of the names)
    package static func pair(in names: some Sequence<String>) -> (String, String)? {
        let names = Array(names)
        // Names of ASCII alone differ here whenever they differ in SQLite.
        guard names.contains(where: { $0.utf8.contains { $0 >= 0x80 } }) else { return nil }
        var known: [String: String] = [:]
        for name in names {
            let folded = lowercased(name)
            // They are compared as they are written in places, and without case in others.
            for form in [name, folded] {
                if let other = known[form], !lowercased(other).hasBytes(of: folded) {
                    return (other, name)
                }
            }
            known[name] = name
            known[folded] = name
        }
        return nil
    }

    /// - Parameter owner: what has the names: `"two tables have"`.
    /// - Throws: `cannotTrack` when two of the names cannot be told apart, with both.
    package static func refuse(_ names: some Sequence<String>, in owner: String) throws {
        guard let (first, second) = pair(in: names) else { return }
        let begin = zip(first.unicodeScalars, second.unicodeScalars).prefix { $0 == $1 }.count
        func shown(_ name: String) -> String {
            let scalars = name.unicodeScalars.dropFirst(begin).prefix(2).map { scalar in
                let digits = String(scalar.value, radix: 16, uppercase: true)
                return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            }
            return "'\(name.printable(countMax: 60))' (\(scalars.joined(separator: " ")))"
        }
        throw SyncError(
            .cannotTrack,
            "\(owner) names that are one text in two spellings, which syncd cannot tell apart: "
                + "\(shown(first)) and \(shown(second))",
            hint: "Rename or drop one of the two. Until then nothing new is recorded here, and "
                + "what was recorded stays")
    }

    /// As SQLite folds names: ASCII letters alone.
    private static func lowercased(_ name: String) -> String {
        let upper = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard name.utf8.contains(where: upper.contains) else { return name }
        return String(
            decoding: name.utf8.map { upper.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}

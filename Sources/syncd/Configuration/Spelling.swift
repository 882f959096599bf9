/// Words that are nearly the known ones.
enum Spelling {
    /// The known word that somebody who typed `word` most likely meant; nil when none is near: more
    /// than a third of the letters, or more than two, differ.
    ///
    /// - Complexity: O(letters² · words)
    static func nearest(to word: String, among known: [String]) -> String? {
        let distances = known.map { (word: $0, distance: distance(word, $0)) }
        guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= min(2, max(1, word.count / 3)) ? best.word : nil
    }

    /// How many letters have to be inserted, removed, replaced or exchanged with the next one, in
    /// either case.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.lowercased()), Array(second.lowercased()))
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(
                    row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}

/// The name that a user probably meant, for the hint of an error.
///
/// Letters are compared without their case. A short word may differ by one letter (inserted, left
/// out, another one, or exchanged with its neighbour), a longer one by two or three.
package enum SimilarName {
    /// Names that a hint lists; the rest are counted.
    private static let listedMax = 20
    /// Words that are longer are compared with nothing: they are no name with a typing error.
    private static let lettersMax = 100

    /// - Returns: the most similar of the names; nil when none is similar.
    /// - Complexity: O(names · letters²)
    package static func nearest(to word: String, among names: some Sequence<String>) -> String? {
        let letters = Array(word.lowercased().prefix(lettersMax + 1))
        guard !letters.isEmpty, letters.count <= lettersMax else { return nil }
        let limit = letters.count < 6 ? 1 : letters.count < 9 ? 2 : 3
        var best: (name: String, distance: Int)?
        for name in names {
            let other = Array(name.lowercased().prefix(lettersMax + 1))
            guard abs(other.count - letters.count) <= limit else { continue }
            let distance = distance(letters, other)
            guard distance <= limit, distance < (best?.distance ?? .max) else { continue }
            best = (name, distance)
        }
        return best?.name
    }

    /// `Did you mean 'Album'? `; empty when no name is similar.
    package static func question(_ word: String, among names: some Sequence<String>) -> String {
        nearest(to: word, among: names).map { "Did you mean '\($0)'? " } ?? ""
    }

    /// A hint about a name that is not known: the similar one, and those that there are.
    ///
    /// - Parameters:
    ///   - names: in the order in which they are listed.
    ///   - title: what stands before the list: `Its tables are`.
    package static func hint(_ word: String, among names: [String], title: String) -> String {
        let more = names.count - listedMax
        let list =
            names.prefix(listedMax).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        return question(word, among: names) + "\(title): \(list)"
    }

    /// The least number of insertions, deletions, replacements and exchanges of neighbours.
    private static func distance(_ word: [Character], _ target: [Character]) -> Int {
        var before: [Int] = []
        var last = Array(0...target.count)
        for line in word.indices {
            var row = [line + 1]
            for column in target.indices {
                let isEqual = word[line] == target[column]
                var cost = min(last[column + 1] + 1, row[column] + 1)
                cost = min(cost, last[column] + (isEqual ? 0 : 1))
                if line > 0, column > 0, word[line] == target[column - 1],
                    word[line - 1] == target[column]
                {
                    cost = min(cost, before[column - 1] + 1)
                }
                row.append(cost)
            }
            (before, last) = (last, row)
        }
        return last[target.count]
    }
}

extension SyncError {
    /// The error about a name of a table that the store does not know.
    /// - Parameter names: the tables that it tracks.
    package static func unknownEntity(_ name: String, among names: [String]) -> SyncError {
        SyncError(
            .unknownEntity, "the store tracks no table '\(name.printable(countMax: 200))'",
            hint: names.isEmpty
                ? "No table is tracked: synctool track DB"
                : SimilarName.hint(name, among: names.sorted(), title: "Its tables are"))
    }

    /// The error about a name of a column that no table has that was asked for.
    /// - Parameters:
    ///   - table: the table; nil: any.
    ///   - names: the columns that there are.
    package static func unknownProperty(
        _ name: String, of table: String?, among names: [String]
    ) -> SyncError {
        let shown = name.printable(countMax: 200)
        return SyncError(
            .unknownEntity,
            table.map { "\($0) has no column '\(shown)'" }
                ?? "no tracked table has a column '\(shown)'",
            hint: table == nil
                ? SimilarName.question(name, among: names)
                    + "List the columns: sqlite3 DB .schema"
                : SimilarName.hint(name, among: names, title: "Its columns are"))
    }
}

/// How a table of a random schema is written down, beyond what merging sees of it: its kind, and
/// columns that are computed. Writers and checks do not name the latter.
struct TableForm {
    private var isStrict = false
    private var isWithoutRowID = false
    private var isAutoincrement = false
    private var computed: [(place: Int, sql: String)] = []

    /// An ordinary table.
    init() {}

    /// Draws the form of a table.
    /// - Parameters:
    ///   - isPrivate: whether its key is a private number.
    ///   - columns: how many columns it has.
    ///   - isLoose: whether its columns take values of any kind, and its numbers are seldom given
    ///     once.
    init(
        isPrivate: Bool, columns: Int, isLoose: Bool = false, _ random: inout SeededRandom
    ) {
        isStrict = random.chance(0.25) && !isLoose
        isWithoutRowID = !isPrivate && random.chance(0.3)
        isAutoincrement = isPrivate && random.chance(isLoose ? 0.12 : 0.3)
        for number in 0..<random.pick([0, 0, 0, 1, 1, 2]) {
            let (expression, type) = random.pick([
                ("upper(d)", "TEXT"), ("d || '+'", "TEXT"), ("length(d)", "INTEGER"),
                ("d IS NULL", "INTEGER"),
            ])
            addComputed(
                "v\(number)", type: type, as: expression, place: random.below(columns + 1), &random)
        }
    }

    /// Adds a computed column, stored or not.
    /// - Parameter place: how many of the table's own columns are before it.
    mutating func addComputed(
        _ name: String, type: String, as expression: String, place: Int,
        _ random: inout SeededRandom
    ) {
        let kind = random.pick(["STORED", "VIRTUAL"])
        computed.append((place, "\(name) \(type) GENERATED ALWAYS AS (\(expression)) \(kind)"))
    }

    /// What follows `INTEGER PRIMARY KEY`.
    var keySuffix: String { isAutoincrement ? " AUTOINCREMENT" : "" }

    /// The definitions of the columns, with those of the computed ones among them.
    func columns(_ own: [String]) -> [String] {
        var all: [String] = []
        for place in 0...own.count {
            for column in computed where min(column.place, own.count) == place {
                all.append(column.sql)
            }
            if place < own.count { all.append(own[place]) }
        }
        return all
    }

    /// What follows the closing parenthesis.
    var suffix: String {
        var options: [String] = []
        if isStrict { options.append("STRICT") }
        if isWithoutRowID { options.append("WITHOUT ROWID") }
        return options.isEmpty ? "" : " " + options.joined(separator: ", ")
    }
}

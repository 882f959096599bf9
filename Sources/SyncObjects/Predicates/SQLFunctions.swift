import GRDB

/// The SQL functions that predicates use beyond SQLite's own. Only this layer's statements call
/// them. Nothing stored does, so that other programs do not need them.
enum SQLFunctions {
    static func install(_ db: Database) {
        db.add(
            function: DatabaseFunction("syncd_fold", argumentCount: 2, pure: true) { values in
                guard let text = String.fromDatabaseValue(values[0]) else { return values[0] }
                let options = Int.fromDatabaseValue(values[1]) ?? 0
                return TextMatching.folded(text, options: .init(rawValue: options))
            })
        db.add(
            function: DatabaseFunction("syncd_case", argumentCount: 2, pure: true) { values in
                guard let text = String.fromDatabaseValue(values[0]) else { return values[0] }
                return values[1] == 1.databaseValue ? text.uppercased() : text.lowercased()
            })
        db.add(
            function: DatabaseFunction("syncd_match", argumentCount: 4, pure: true) { values in
                guard let text = String.fromDatabaseValue(values[0]),
                    let part = String.fromDatabaseValue(values[1])
                else { return false }
                let options = FetchPredicate.TextOptions(
                    rawValue: Int.fromDatabaseValue(values[3]) ?? 0)
                switch Int.fromDatabaseValue(values[2]) {
                case 1: return TextMatching.begins(text, with: part)
                case 2: return TextMatching.ends(text, with: part)
                case 3: return TextMatching.like(text, pattern: part)
                default: return TextMatching.matches(text, pattern: part, options: options)
                }
            })
    }
}

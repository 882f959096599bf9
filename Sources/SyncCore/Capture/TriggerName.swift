/// The name of a trigger that syncd creates on a table of the user:
/// `syncd_<number>_<letter>_use_synctool_migrate`.
///
/// SQLite names the trigger in the error of a statement that it refuses because of it, such as
/// DROP COLUMN: so the name says which command runs that statement. The names of earlier versions,
/// and of triggers that refuse nothing, end with the letter.
struct TriggerName: Hashable {
    /// The number of the entity.
    let entity: Int64
    /// What the trigger does.
    let letter: Character

    /// What follows the letter.
    private static let advice = "_use_synctool_migrate"

    /// The pattern of GLOB that every such name has; other names may have it, too.
    static let pattern = "syncd_[0-9]*_[a-z]*"

    init(entity: Int64, letter: Character) { (self.entity, self.letter) = (entity, letter) }

    /// Takes a name apart; nil for one of another form.
    init?(_ name: String) {
        let short = name.hasSuffix(Self.advice) ? String(name.dropLast(Self.advice.count)) : name
        let parts = short.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "syncd", parts[2].count == 1,
            parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let number = Int64(parts[1]),
            let letter = parts[2].first
        else { return nil }
        self.init(entity: number, letter: letter)
    }

    /// The name as it is created now.
    var text: String { short + Self.advice }

    /// The name without the advice.
    var short: String { "syncd_\(entity)_\(letter)" }
}

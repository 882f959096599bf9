/// Numbers with their nouns.
enum Plural {
    /// `1 change`, `2 changes`
    static func text(_ count: Int, of noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}

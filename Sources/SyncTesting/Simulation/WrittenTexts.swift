import SyncMerge

/// Every text that the writers of a simulation committed, and which of them were removed by a
/// writer that saw them.
struct WrittenTexts {
    private var written: Set<String> = []
    private var removed: Set<String> = []

    /// The texts that only one writer makes, and the number of rows that have each: concurrent
    /// changes of a key may make two objects of one.
    static func count(
        in tables: [RowKey: [Value]], schema: SimulatedSchema
    ) -> [String: Int] {
        var texts: [String: Int] = [:]
        for (key, row) in tables {
            for (role, value) in zip(schema.roles[key.entity], row)
            where role == .token || role.isBlending {
                for text in parts(of: value, role: role) { texts[text, default: 0] += 1 }
            }
        }
        return texts
    }

    /// The texts of a value that are traced: elements of sets, lines of texts.
    private static func parts(of value: Value, role: SimulatedSchema.Role) -> [String] {
        guard case .text(let text) = value else { return [] }
        switch role {
        case .set: return JSONArray.elements(value) ?? []
        case .lines: return text.split(separator: "\n").map(String.init)
        case .counter: return []
        default: return [text]
        }
    }

    /// All texts that may be traced of a text in a log, whatever column it was in.
    static func parts(ofLogged text: String) -> [String] {
        [text] + text.split(separator: "\n").map(String.init)
            + (JSONArray.elements(.text(text)) ?? [])
    }

    /// Records what one commit did.
    mutating func note(before: [String: Int], after: [String: Int]) {
        written.formUnion(after.keys.filter { before[$0] == nil })
        removed.formUnion(before.filter { $0.value > after[$0.key, default: 0] }.keys)
    }

    /// The texts that are in no table and in no log, although no writer removed them.
    func lost(_ seen: Set<String>) -> [String] {
        written.subtracting(removed).subtracting(seen).sorted()
    }
}

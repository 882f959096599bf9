import SyncMerge

/// Every text that writers of a simulation committed, and which of them somebody removed who saw
/// them.
struct WrittenTexts {
    private var written: Set<String> = []
    private var removed: Set<String> = []

    /// The texts that only one writer makes, and how many rows have each: the change of a key may
    /// make two objects of one, concurrently.
    static func count(
        _ tables: [RowKey: [Value]], _ schema: SimulatedSchema
    ) -> [String: Int] {
        var texts: [String: Int] = [:]
        for (key, row) in tables {
            for (role, value) in zip(schema.roles[key.entity], row)
            where role == .token || role.isBlending {
                for text in parts(value, role) { texts[text, default: 0] += 1 }
            }
        }
        return texts
    }

    /// What is followed of a value: elements of sets, lines of texts.
    private static func parts(_ value: Value, _ role: SimulatedSchema.Role) -> [String] {
        guard case .text(let text) = value else { return [] }
        switch role {
        case .set: return JSONArray.elements(value) ?? []
        case .lines: return text.split(separator: "\n").map(String.init)
        case .counter: return []
        default: return [text]
        }
    }

    /// All that may be followed of a text in a log, whatever column it was in.
    static func parts(ofLogged text: String) -> [String] {
        [text] + text.split(separator: "\n").map(String.init)
            + (JSONArray.elements(.text(text)) ?? [])
    }

    /// Takes note of what one commit did.
    mutating func note(_ before: [String: Int], _ after: [String: Int]) {
        written.formUnion(after.keys.filter { before[$0] == nil })
        removed.formUnion(before.filter { $0.value > after[$0.key, default: 0] }.keys)
    }

    /// The texts that are in no table and in no log, although nobody removed them.
    func lost(_ seen: Set<String>) -> [String] {
        written.subtracting(removed).subtracting(seen).sorted()
    }
}

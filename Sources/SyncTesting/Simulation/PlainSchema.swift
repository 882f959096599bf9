import SyncMerge

/// Draws schemas as most stores have them: two to four tables with private numbers or texts as
/// keys, of which two writers seldom choose one; columns under `lastWriter`; references that
/// restrict, cascade or set NULL; here and there a UNIQUE, a CHECK, a counter or a key made of
/// references.
///
/// Where they are crowded, writers often choose one text; there are values that few rows can have,
/// references that SET DEFAULT, and CHECKs over references.
struct PlainSchema {
    private let isCrowded: Bool
    /// From this many texts a writer chooses one: two rarely choose the same, or often.
    private let choices: Int
    private var random: SeededRandom
    private var drafts: [EntityDraft] = []

    static func draw(_ random: inout SeededRandom, isCrowded: Bool) -> SimulatedSchema {
        var drawing = PlainSchema(random: random.fork(), isCrowded: isCrowded)
        return drawing.finish()
    }

    private init(random: SeededRandom, isCrowded: Bool) {
        self.random = random
        self.isCrowded = isCrowded
        choices = isCrowded ? 8 : 400
    }

    private mutating func finish() -> SimulatedSchema {
        for index in 0..<(2 + random.below(3)) { drafts.append(draft(index)) }
        let entities = drafts.map {
            $0.entity(deleteWins: random.chance(0.8), uniquePolicy: .merge)
        }
        for index in drafts.indices {
            drafts[index].foreignKeys = drafts[index].references.map { _ in
                ForeignKeyForm(isDeferred: random.chance(0.2), &random)
            }
        }
        return SimulatedSchema(
            MergeSchema(entities), tables: drafts.map { $0.sql(drafts) },
            roles: drafts.map(\.roles), indexes: drafts.map(\.index),
            lowerColumns: drafts.map(\.lowerColumns))
    }

    private mutating func draft(_ index: Int) -> EntityDraft {
        let isPrivate = random.chance(0.5)
        var draft = EntityDraft(name: "E\(index)", isPrivate: isPrivate)
        draft.sharesNumbers = isPrivate && random.chance(0.1)
        if isPrivate {
            draft.addKey("id", role: .privateNumber)
        } else if index > 0, random.chance(0.15) {
            let target = random.below(index)
            let columns = addReference(to: &draft, prefix: "j", target: target, isRequired: true)
            draft.key += columns
            draft.references.append(.init(columns, to: target, onDelete: .cascade))
            draft.addKey("k", role: .text(choices: choices))
        } else {
            draft.addKey("k", role: .text(choices: choices))
        }
        draft.add("d", role: .token)
        if random.chance(0.6) { draft.add("e", role: .token) }
        if random.chance(0.1) { draft.policies[draft.add("n", role: .counter)] = .counter }
        if random.chance(0.2) {
            draft.uniques.append([draft.add("v", role: .text(choices: choices))])
        }
        if isCrowded, random.chance(0.3) { draft.uniques.append([draft.add("u", role: .unique)]) }
        if random.chance(0.2) {
            let low = draft.add("a", role: .number(choices: 4), isRequired: true)
            let high = draft.add("b", role: .number(choices: 4), isRequired: true)
            draft.addCheck(.ordered, on: [low, high])
        }
        if index > 0 {
            for place in 0..<random.pick([0, 1, 1, 2]) {
                addReference(to: &draft, at: place, target: random.below(index))
            }
        }
        addMany(to: &draft)
        draft.form = TableForm(isPrivate: isPrivate, columns: draft.columnCount, &random)
        return draft
    }

    /// Some tables have more columns than a word has bits, or than the lanes take. What is drawn
    /// otherwise does not depend on it.
    private func addMany(to draft: inout EntityDraft) {
        var random = random
        for _ in 0..<50 { _ = random.next() }
        guard random.chance(0.03) else { return }
        for place in 0..<random.pick([59, 61, 63, 90, 121, 124, 127]) {
            draft.add("w\(place)", role: .token)
        }
    }

    private mutating func addReference(to draft: inout EntityDraft, at place: Int, target: Int) {
        let isRequired = random.chance(0.3)
        let columns = addReference(
            to: &draft, prefix: "f\(place)_", target: target, isRequired: isRequired)
        let actions: [MergeEntity.Reference.Action] = [.restrict, .restrict, .cascade, .setNull]
        var action = isRequired ? random.pick([.restrict, .cascade]) : random.pick(actions)
        if isCrowded, columns.count == 1, random.chance(0.3) {
            action = .setDefault
            draft.defaults[columns[0]] = drafts[target].isPrivate ? 1 : "k0"
        }
        if isCrowded, !isRequired, random.chance(0.2) {
            let flag = draft.add("c\(place)", role: .number(choices: 2), isRequired: true)
            draft.addCheck(.present, on: [columns[0], flag])
        }
        draft.references.append(.init(columns, to: target, onDelete: action))
        if random.chance(0.08) {
            let number = draft.add("p\(place)", role: .number(choices: 4))
            draft.uniques.append(columns + [number])
        }
    }

    private func addReference(
        to draft: inout EntityDraft, prefix: String, target: Int, isRequired: Bool
    ) -> [Int] {
        drafts[target].keyTypes.enumerated().map { part, key in
            draft.add(
                "\(prefix)\(part)", role: .reference, type: key.type, isRequired: isRequired)
        }
    }
}

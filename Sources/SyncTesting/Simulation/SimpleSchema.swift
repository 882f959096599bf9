import SyncMerge

/// Draws schemas as most programs have them: two to five tables with INTEGER PRIMARY KEY or a text
/// as the key, here and there a key of two columns; references of one column; some UNIQUE, CHECK
/// and NOT NULL; no triggers, no policies of their own. Columns of every affinity hold every kind
/// of value.
///
/// Where numbers are given once (AUTOINCREMENT), that is one table in eight.
struct SimpleSchema {
    /// From this many texts a writer chooses one: two rarely choose the same.
    private static let choices = 5000
    private static let types = ["TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", ""]

    private var random: SeededRandom
    private var drafts: [EntityDraft] = []

    static func draw(_ random: inout SeededRandom) -> SimulatedSchema {
        var drawing = SimpleSchema(random: random.fork())
        return drawing.finish()
    }

    private init(random: SeededRandom) { self.random = random }

    private mutating func finish() -> SimulatedSchema {
        for index in 0..<(2 + random.below(4)) { drafts.append(draft(index)) }
        let entities = drafts.map {
            $0.entity(deleteWins: random.chance(0.8), uniquePolicy: .merge)
        }
        for index in drafts.indices {
            drafts[index].foreignKeys = drafts[index].references.map { _ in
                ForeignKeyForm(isDeferred: random.chance(0.1), &random)
            }
        }
        return SimulatedSchema(
            MergeSchema(entities), tables: drafts.map { $0.sql(drafts) },
            roles: drafts.map(\.roles))
    }

    private mutating func draft(_ index: Int) -> EntityDraft {
        let isPrivate = random.chance(0.6)
        var draft = EntityDraft(name: "E\(index)", isPrivate: isPrivate)
        if isPrivate {
            draft.addKey("id", role: .privateNumber)
        } else {
            draft.addKey("k", role: .text(choices: Self.choices))
            if random.chance(0.3) { draft.addKey("l", role: .number(choices: 50)) }
        }
        // A table may have nothing but its key. Looked at ahead: the others stay as they were.
        var ahead = random
        if ahead.chance(0.08) { return draft }
        draft.add("d", role: .token, isRequired: random.chance(0.3))
        if random.chance(0.5) { draft.add("e", role: .token) }
        for number in 0..<random.pick([0, 1, 1, 2, 3]) {
            draft.add("x\(number)", role: .any, type: random.pick(Self.types))
        }
        if random.chance(0.25) {
            draft.uniques.append([draft.add("v", role: .text(choices: Self.choices))])
        }
        if random.chance(0.2) {
            let low = draft.add("a", role: .number(choices: 4), isRequired: true)
            let high = draft.add("b", role: .number(choices: 4), isRequired: true)
            draft.addCheck(.ordered, on: [low, high])
        }
        let targets = drafts.indices.filter { drafts[$0].key.count == 1 }
        if !targets.isEmpty {
            for place in 0..<random.pick([0, 1, 1, 2]) {
                addReference(to: &draft, at: place, target: random.pick(targets))
            }
        }
        draft.form = TableForm(
            isPrivate: isPrivate, columns: draft.columnCount, isLoose: true, &random)
        return draft
    }

    private mutating func addReference(to draft: inout EntityDraft, at place: Int, target: Int) {
        let isRequired = random.chance(0.3)
        let key = drafts[target].keyTypes[0]
        let column = draft.add(
            "f\(place)", role: .reference, type: key.type, isRequired: isRequired)
        let actions: [MergeEntity.Reference.Action] = [.restrict, .restrict, .cascade, .setNull]
        let action = isRequired ? random.pick([.restrict, .cascade]) : random.pick(actions)
        draft.references.append(.init([column], to: target, onDelete: action))
    }
}

import SyncMerge

/// Draws schemas: two to four entities with private and shared integer, text, composite and join
/// keys (made of references, also to other join keys), UNIQUE over one and several columns, CHECKs
/// over several columns and over references, references of every action on DELETE and on UPDATE, to
/// others, to themselves and in circles, with and without NOT NULL and defaults, deferred or not;
/// integers at the ends of their range; triggers of the user; keys that NOCASE and RTRIM compare,
/// UNIQUE indexes over expressions, over computed columns and over a part of the rows; tables of
/// each ``TableForm``.
struct RandomSchema {
    private typealias Role = SimulatedSchema.Role

    private enum KeyKind { case number, text, composite, join }

    private var random: SeededRandom
    /// For what was added later: the rest of a seed's schema stays as it was.
    private var added: SeededRandom
    /// The same, for the forms of the tables.
    private var forming: SeededRandom
    /// The same, for what came after these.
    private var widening: SeededRandom
    /// Of the types of references to numbers; nil: they have those of the numbers.
    private var typing: SeededRandom?
    /// The same, for which numbers are shared.
    private var sharing: SeededRandom
    /// The same, for CHECKs that see the spelling of references.
    private var spelling: SeededRandom
    private let kinds: [KeyKind]
    private let favourite: MergeEntity.Reference.Action?
    private var drafts: [EntityDraft] = []
    /// For each entity the default of a reference to it, one for each key column.
    private var fallbacks: [[Value]] = []

    /// Whether most references are under a UNIQUE.
    private let isLoose: Bool

    /// - Parameters:
    ///   - isLoose: whether most references are under a UNIQUE, also over a part of them.
    ///   - convertsReferences: whether columns may refer to numbers that hold them as text, which
    ///     tables of files convert.
    static func draw(
        _ random: inout SeededRandom, isLoose: Bool = false, convertsReferences: Bool = false
    ) -> SimulatedSchema {
        var drawing = RandomSchema(random.fork(), isLoose: isLoose)
        if !convertsReferences { drawing.typing = nil }
        return drawing.finish()
    }

    private init(_ random: SeededRandom, isLoose: Bool) {
        self.isLoose = isLoose
        var random = random
        var twin = random
        added = SeededRandom(seed: twin.next() &+ 0xD_0000_0000)
        forming = SeededRandom(seed: twin.next() &+ 0xE_0000_0000)
        widening = SeededRandom(seed: twin.next() &+ 0x12_0000_0000)
        sharing = SeededRandom(seed: twin.next() &+ 0x9_0000_0000)
        spelling = SeededRandom(seed: twin.next() &+ 0x5_0000_0000)
        typing = SeededRandom(seed: twin.next() &+ 0x13_0000_0000)
        var kinds: [KeyKind] = []
        for index in 0..<(2 + random.below(3)) {
            let plain: [KeyKind] = [.number, .text, .composite]
            kinds.append(random.pick(plain + (index == 0 ? [.number] : [.join, .join])))
        }
        if isLoose { kinds[0] = .number }
        self.kinds = kinds
        favourite =
            random.chance(0.4) ? random.pick([.restrict, .cascade, .setNull, .setDefault]) : nil
        self.random = random
    }

    private mutating func finish() -> SimulatedSchema {
        for index in kinds.indices {
            var draft = EntityDraft(name: "E\(index)", isPrivate: kinds[index] == .number)
            draft.sharesNumbers = kinds[index] == .number && sharing.chance(0.5)
            addKey(to: &draft, index: index)
            drafts.append(draft)
        }
        for index in kinds.indices {
            var draft = drafts[index]
            addColumns(&draft)
            addReferences(to: &draft, index: index)
            addSpellingChecks(to: &draft)
            if added.chance(0.35) { addIndex(to: &draft) }
            draft.form = TableForm(
                isPrivate: draft.isPrivate, columns: draft.columnCount, &forming)
            computeTerms(of: &draft)
            drafts[index] = draft
        }
        let policies: [UniquePolicy] = [.merge, .merge, .merge, .keepBoth, .laterLoses]
        let entities = drafts.map {
            $0.entity(deleteWins: random.chance(0.7), uniquePolicy: random.pick(policies))
        }
        for index in drafts.indices {
            drafts[index].foreignKeys = drafts[index].references.map { _ in
                ForeignKeyForm(isDeferred: random.chance(0.2), &widening)
            }
        }
        for index in drafts.indices { convertReferences(of: index) }
        let tables = drafts.map { $0.sql(drafts) }
        let triggers = drafts.flatMap { SimulatedTriggers.draw($0, &widening) }
        return SimulatedSchema(
            MergeSchema(entities), tables: tables, roles: drafts.map(\.roles),
            indexes: drafts.map(\.index),
            triggers: triggers.isEmpty ? [] : [SimulatedTriggers.log] + triggers,
            lowerColumns: drafts.map(\.lowerColumns))
    }

    private mutating func addKey(to draft: inout EntityDraft, index: Int) {
        var fallback: [Value] = []
        switch kinds[index] {
        case .number:
            draft.addKey("id", role: .privateNumber)
            fallback = [1]
        case .text:
            draft.addKey("k", role: .text(choices: 3))
            if added.chance(0.35) {
                draft.collations[draft.key[0]] = added.pick([.nocase, .nocase, .rtrim])
            }
            fallback = ["k0"]
        case .composite:
            draft.addKey("k1", role: .text(choices: 3))
            if added.chance(0.2) { draft.collations[draft.key[0]] = .nocase }
            draft.addKey("k2", role: .number(choices: 2))
            fallback = ["k0", 0]
        case .join:
            let chosen = (0..<random.pick([1, 2, 2])).map { _ in random.below(index) }
            var parts: [Int] = []
            for (place, target) in chosen.enumerated() {
                let columns = addReferenceColumns(
                    to: &draft, prefix: "j\(place)_", target: target, isRequired: true)
                parts.append(columns[0])
                draft.key += columns
                fallback += fallbacks[target]
                let action: MergeEntity.Reference.Action = random.pick(
                    [.cascade, .cascade, .restrict, .restrict, .setNull, .setDefault])
                if action == .setDefault {
                    addDefaults(to: &draft, columns: columns, target: target)
                }
                draft.references.append(.init(columns, to: target, onDelete: action))
            }
            if random.chance(0.3) {
                draft.addKey("k2", role: .number(choices: 2))
                fallback.append(0)
            }
            if chosen.count == 2, chosen[0] == chosen[1], random.chance(0.3) {
                draft.addCheck(.differ, on: parts)
            }
        }
        fallbacks.append(fallback)
    }

    private mutating func addColumns(_ draft: inout EntityDraft) {
        let winners: [CellPolicy] = [
            .lastWriter, .lastWriter, .firstWriter, .preferring(SimulatedReplica.id("A")),
            .preferring(SimulatedReplica.id("B")),
        ]
        draft.policies[draft.add("d", role: .token)] = random.pick(winners)
        if random.chance(0.4) {
            draft.policies[draft.add("e", role: .token)] = random.pick(winners)
        }
        if random.chance(0.25) { draft.policies[draft.add("n", role: .counter)] = .counter }
        if random.chance(0.25) { draft.policies[draft.add("s", role: .set)] = .set }
        if random.chance(0.25) { draft.policies[draft.add("t", role: .lines)] = .text }
        if random.chance(0.6) {
            let column = draft.add("u", role: .unique, isRequired: random.chance(0.5))
            draft.uniques.append([column])
        }
        if random.chance(0.35) {
            let role = widening.chance(0.4) ? Role.extreme(choices: 4) : .number(choices: 4)
            let low = draft.add("a", role: role, isRequired: true)
            let high = draft.add("b", role: role, isRequired: true)
            draft.addCheck(.ordered, on: [low, high])
        }
    }

    /// Adds an index over lower-case text, over the rows with a flag, or both.
    private mutating func addIndex(to draft: inout EntityDraft) {
        let unique = draft.roles.firstIndex(of: .unique)
        let kinds = ["flag"] + (unique == nil ? [] : ["lower", "both", "part"])
        let kind = added.pick(kinds)
        guard kind != "lower" else {
            draft.index = SimulatedIndex(terms: [unique ?? 0], lower: [unique ?? 0], flag: nil)
            return
        }
        let flag = draft.add("g", role: .number(choices: 2), isRequired: true)
        draft.defaults[flag] = added.pick([0, 0, 1])
        var terms = draft.references.last?.columns ?? []
        if let unique, kind != "flag" {
            terms = [unique]
        } else if terms.isEmpty || terms.contains(where: draft.key.contains) || added.chance(0.3) {
            terms = [draft.add("h", role: .number(choices: 2))]
        }
        draft.index = SimulatedIndex(
            terms: terms, lower: kind == "both" ? Set(terms) : [], flag: (column: flag, value: 1))
    }

    /// Puts the lower-case terms of the index into computed columns, in half of the tables.
    private mutating func computeTerms(of draft: inout EntityDraft) {
        guard let index = draft.index, !index.lower.isEmpty, forming.chance(0.5) else { return }
        draft.index?.computed = "low"
        for term in index.lower.sorted() {
            draft.form.addComputed(
                "low\(term)", type: "TEXT", as: "lower(\(draft.columnName(term)))",
                place: forming.below(draft.columnCount + 1), &forming)
        }
    }

    private mutating func addReferences(to draft: inout EntityDraft, index: Int) {
        let count =
            index > 0 || random.chance(0.5) ? random.pick([isLoose ? 1 : 0, 1, 1, 1, 2]) : 0
        for place in 0..<count {
            let drawn =
                random.chance(0.35) ? random.below(kinds.count) : random.below(max(index, 1))
            let target = isLoose && random.chance(0.6) ? 0 : drawn
            let isRequired = target < index && random.chance(0.4)
            let columns = addReferenceColumns(
                to: &draft, prefix: "f\(place)_", target: target, isRequired: isRequired)
            var action = random.pick(
                [.cascade, .setNull, .setDefault, .restrict, .restrict]
                    as [MergeEntity.Reference.Action])
            if let favourite, random.chance(0.6) { action = favourite }
            if action == .setDefault { addDefaults(to: &draft, columns: columns, target: target) }
            draft.references.append(.init(columns, to: target, onDelete: action))
            if isLoose, random.chance(0.8) {
                let part = [random.pick(columns)]
                draft.uniques.append(random.chance(0.5) ? part : columns)
                continue
            }
            switch Double.random(in: 0..<1, using: &random) {
            case ..<0.25:
                let role = widening.chance(0.4) ? Role.extreme(choices: 2) : .number(choices: 2)
                draft.uniques.append(columns + [draft.add("p\(place)", role: role)])
            case ..<0.33: draft.uniques.append(columns)
            case ..<0.45 where !isRequired:
                let flag = draft.add("c\(place)", role: .number(choices: 2), isRequired: true)
                draft.addCheck(.present, on: [columns[0], flag])
            default: break
            }
        }
    }

    /// Gives columns that refer to numbers a type that may convert these: outside of keys, to
    /// which others refer. They are types of STRICT tables, too.
    private mutating func convertReferences(of index: Int) {
        for reference in drafts[index].references where reference.onDelete != .setDefault {
            guard drafts[reference.target].isPrivate, typing?.chance(0.25) ?? false else {
                continue
            }
            let type = typing?.pick(["TEXT", "TEXT", "ANY"]) ?? "INTEGER"
            for column in reference.columns where !drafts[index].key.contains(column) {
                drafts[index].setType(type, of: column)
            }
        }
    }

    /// Adds a CHECK that calls references different which SQLite does not: to keys under NOCASE.
    private mutating func addSpellingChecks(to draft: inout EntityDraft) {
        for column in draft.references.flatMap(\.columns)
        where draft.collations[column] == .nocase && spelling.chance(0.25) {
            draft.addCheck(.lower, on: [column, column])
        }
    }

    /// Adds one column per key column of the target.
    private mutating func addReferenceColumns(
        to draft: inout EntityDraft, prefix: String, target: Int, isRequired: Bool
    ) -> [Int] {
        let target = target < drafts.count ? drafts[target] : draft
        return target.keyTypes.enumerated().map { part, key in
            let column = draft.add(
                "\(prefix)\(part)", role: .reference, type: key.type, isRequired: isRequired)
            // Most users do not say COLLATE again: UNIQUE tells apart there what the key does not.
            if key.collation != .binary, !spelling.chance(0.4) {
                draft.collations[column] = key.collation
            }
            return column
        }
    }

    /// What SET DEFAULT sets: nothing, the key of a row that may be there, or that with a NULL.
    private mutating func addDefaults(
        to draft: inout EntityDraft, columns: [Int], target: Int
    ) {
        guard random.chance(0.75) else { return }
        for (column, value) in zip(columns, fallbacks[target]) { draft.defaults[column] = value }
        if columns.count > 1, random.chance(0.15) { draft.defaults[random.pick(columns)] = nil }
    }
}

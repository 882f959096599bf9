import SyncMerge
import SyncStorage

extension MergeSchema {
    /// A kept fact as this schema names it, and the positions of those of its columns that the
    /// schema has no place for; nil where it has none for any.
    func place(of entry: UnknownFacts.Entry) -> (facts: [Fact], rest: [Int])? {
        let name = SQLName.folded(entry.entity)
        guard let place = entities.firstIndex(where: { SQLName.folded($0.name) == name }),
            entities[place].isPrivate == entry.isPrivate
        else { return nil }
        switch entry.fact {
        case .alias: return nil
        case .life(let uid, _, let life): return ([.life(uid, entity: place, life)], [])
        case .cell(let uid, _, _, let version):
            return CellMap(from: entry.described, place: place, to: entities[place])
                .resolved(uid, cell: 0, version: version)
        }
    }

    /// The defaults of columns of a new table that the writers of its objects did not have: as
    /// ``Batch/defaults(in:)``.
    /// - Parameters:
    ///   - facts: those that have a place now.
    ///   - waiting: those that still have none: their columns are not missing.
    /// - Complexity: O(facts)
    func defaults(of facts: [Fact], besides waiting: [UnknownFacts.Entry]) -> [Fact] {
        var written: [ObjectUID: Set<String>] = [:]
        for case .cell(let uid, let place, let cell, let version) in facts {
            for (column, field) in zip(entities[place].cells[cell], version.value)
            where field != .unstated {
                written[uid, default: []].insert(
                    SQLName.folded(entities[place].columns[column].name))
            }
        }
        for entry in waiting {
            guard let uid = entry.fact.object else { continue }
            written[uid, default: []].formUnion(entry.columns.map(SQLName.folded))
        }
        var defaults: [Fact] = []
        for case .life(let uid, let place, let life) in facts where life.kind == .created {
            let known = written[uid] ?? []
            defaults += entities[place].defaults { !known.contains($0) }.map { cell, value in
                .cell(uid, entity: place, cell: cell, Version(of: life, value: value))
            }
        }
        return defaults
    }
}

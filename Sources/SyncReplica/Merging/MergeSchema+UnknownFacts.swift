import SyncMerge
import SyncStorage

extension MergeSchema {
    /// A kept fact as this schema names it; nil where the schema has no place for it.
    func place(of entry: UnknownFacts.Entry) -> Fact? {
        let name = SQLName.folded(entry.entity)
        guard let place = entities.firstIndex(where: { SQLName.folded($0.name) == name }),
            entities[place].isPrivate == entry.isPrivate
        else { return nil }
        let columns = entry.columns.map(SQLName.folded)
        switch entry.fact {
        case .alias: return nil
        case .life(let uid, _, let life): return .life(uid, entity: place, life)
        case .cell(let uid, _, _, let version):
            let entity = entities[place]
            for (cell, positions) in entity.cells.enumerated() {
                let names = positions.map { SQLName.folded(entity.columns[$0].name) }
                let order = names.compactMap { columns.firstIndex(of: $0) }
                guard order.count == names.count, names.count == columns.count else { continue }
                return .cell(
                    uid, entity: place, cell: cell,
                    Version(
                        version.dot, incarnation: version.incarnation,
                        value: order.map { version.value[$0] }))
            }
            return nil
        }
    }

    /// The defaults of columns of a new table that the writers of its objects did not have: as
    /// ``Batch/defaults(in:)``.
    /// - Parameters:
    ///   - facts: those that have a place now.
    ///   - waiting: those that still have none: their columns are not missing.
    /// - Complexity: O(facts)
    func defaults(of facts: [Fact], besides waiting: [UnknownFacts.Entry]) -> [Fact] {
        var written: [ObjectUID: Set<Int>] = [:]
        for case .cell(let uid, _, let cell, _) in facts { written[uid, default: []].insert(cell) }
        var others: [ObjectUID: Set<String>] = [:]
        for entry in waiting {
            guard let uid = entry.fact.object else { continue }
            others[uid, default: []].formUnion(entry.columns.map(SQLName.folded))
        }
        var defaults: [Fact] = []
        for case .life(let uid, let place, let life) in facts where life.kind == .created {
            let entity = entities[place]
            for (cell, columns) in entity.cells.enumerated()
            where !(written[uid]?.contains(cell) ?? false) {
                let names = columns.map { SQLName.folded(entity.columns[$0].name) }
                if !(others[uid]?.isDisjoint(with: names) ?? true) { continue }
                defaults.append(
                    .cell(
                        uid, entity: place, cell: cell, entity.defaultVersion(of: cell, at: life)))
            }
        }
        return defaults
    }
}

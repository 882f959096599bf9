import SyncMerge
import SyncStorage

/// The entities of a batch, with the cells of facts that are only forwarded. Forwarded cells of an
/// entity of this replica follow its own, and are repeated in an entity of the same name at the
/// end: in these cells the inserts of this replica have no value (``Batch/defaults(in:)``). So do
/// cells of columns that are a part of one here, which are not repeated. A table that identifies
/// rows otherwise than this replica's of the same name is there, too.
struct DescribedEntities {
    private(set) var entities: [Batch.Entity]
    /// The cells of parts of cells.
    private(set) var parts: [PartCell: Int] = [:]
    private let ownCount: Int
    /// The number of cells that each entity of this replica has.
    private let ownCells: [Int]

    init(_ entities: [Batch.Entity]) {
        self.entities = entities
        ownCount = entities.count
        ownCells = entities.map(\.cells.count)
    }

    /// A fact as the batch names it.
    mutating func described(_ entry: UnknownFacts.Entry) -> Fact {
        let name = SQLName.folded(entry.entity)
        let own = entities[..<ownCount].firstIndex {
            SQLName.folded($0.name) == name && $0.isPrivate == entry.isPrivate
        }
        switch entry.fact {
        case .alias: return entry.fact
        case .life(let uid, _, let life):
            return .life(uid, entity: own ?? forwardedPlace(of: entry, name: name), life)
        case .cell(let uid, _, _, let version):
            if let own {
                let known = Set(entities[own].cells[..<ownCells[own]].joined().map(SQLName.folded))
                let others = entry.columns.filter { !known.contains(SQLName.folded($0)) }
                if !others.isEmpty { _ = cell(others, at: forwardedPlace(of: entry, name: name)) }
            }
            let place = own ?? forwardedPlace(of: entry, name: name)
            return .cell(uid, entity: place, cell: cell(entry.columns, at: place), version)
        }
    }

    /// Adds the cell that has the columns of a part of another one alone.
    mutating func describe(_ part: PartCell) {
        guard parts[part] == nil else { return }
        let columns = part.stated.map { entities[part.entity].cells[part.cell][$0] }
        parts[part] = cell(columns, at: part.entity)
    }

    private mutating func cell(_ columns: [String], at place: Int) -> Int {
        let cells = entities[place].cells
        let names = columns.map(SQLName.folded)
        if let known = cells.firstIndex(where: { $0.map(SQLName.folded) == names }) { return known }
        entities[place].cells.append(columns)
        return cells.count
    }

    private mutating func forwardedPlace(of entry: UnknownFacts.Entry, name: String) -> Int {
        place(
            of: Batch.Entity(
                name: entry.entity, isPrivate: entry.isPrivate, sharesNumbers: entry.sharesNumbers,
                cells: []))
    }

    /// The position of an entity after those of this replica: added when it is not there.
    mutating func place(of entity: Batch.Entity) -> Int {
        let name = SQLName.folded(entity.name)
        let known = entities[ownCount...].firstIndex {
            SQLName.folded($0.name) == name && $0.isPrivate == entity.isPrivate
        }
        if let known { return known }
        entities.append(entity)
        return entities.count - 1
    }
}

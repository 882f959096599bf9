/// Which columns are versioned as one cell.
///
/// Columns that one constraint ties together (a CHECK over several columns, a UNIQUE of several
/// columns, the key, a composite foreign key, and all that overlap) are one value. So no mix of
/// versions can break a constraint of one row, and no mix claims a UNIQUE value that no writer
/// claimed.
enum Coupling {
    /// The cells of `columns`: what `ties` join, and each other column alone.
    static func cells(of columns: [Int], ties: [[Int]]) -> [[Int]] {
        let known = Set(columns)
        var sets = DisjointSets<Int>()
        for tie in ties {
            let tied = tie.filter(known.contains)
            for column in tied.dropFirst() { sets.union(tied[0], with: column) }
        }
        var cells: [[Int]] = []
        var places: [Int: Int] = [:]
        for column in columns {
            let root = sets.root(of: column)
            if let place = places[root] {
                cells[place].append(column)
            } else {
                places[root] = cells.count
                cells.append([column])
            }
        }
        return cells
    }
}

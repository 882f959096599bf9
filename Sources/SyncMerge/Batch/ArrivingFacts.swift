import SyncValues

/// The facts of a batch that arrives, or that is sent, as flat columns, and in the order of its
/// transactions.
///
/// A fact as an object costs several allocations; a merge that takes the fast lane, and sending,
/// need none of them, and any other merge makes those of its slice (``facts(in:)``).
package final class ArrivingFacts: Sendable {
    /// Life facts, by row.
    package struct Lives: Sendable {
        /// Positions of objects.
        package var objects: [Int32] = []
        /// Positions of the sender's entities.
        package var entities: [Int32] = []
        package var kinds: [LifeKind] = []
        /// Positions of transactions.
        package var transactions: [Int32] = []
        package var incarnations: [Int32] = []

        /// None yet.
        package init() {}
    }

    /// Aliases, by row.
    package struct Aliases: Sendable {
        /// Positions of objects.
        package var first: [Int32] = []
        package var second: [Int32] = []
        /// Positions of transactions.
        package var transactions: [Int32] = []

        /// None yet.
        package init() {}
    }

    /// The versions of one cell of the sender's entities, by row.
    package struct Versions: Sendable {
        package let entity: Int
        package let cell: Int
        /// Positions of objects.
        package var objects: [Int32] = []
        /// Positions of transactions.
        package var transactions: [Int32] = []
        package var incarnations: [Int32] = []
        /// By column of the cell.
        package var values: [ValueSpans] = []

        /// None yet.
        package init(entity: Int, cell: Int) {
            self.entity = entity
            self.cell = cell
        }
    }

    /// Where a fact stands.
    package struct Place: Sendable {
        /// 0: ``lives``; 1: ``aliases``; from 2 on: ``versions``.
        package let group: Int32
        package let row: Int32
    }

    /// The objects that the batch names.
    package let objects: [ObjectUID]
    /// The names of its transactions.
    package let dots: [Dot]
    package let lives: Lives
    package let aliases: Aliases
    package let versions: [Versions]
    /// All facts, by transaction.
    package let places: [Place]
    /// Where the facts of each transaction begin in ``places``; then the end.
    package let starts: [Int]

    /// Puts the facts in the order of their transactions.
    /// - Complexity: O(facts)
    package init(
        objects: [ObjectUID], dots: [Dot], lives: Lives, aliases: Aliases, versions: [Versions]
    ) {
        self.objects = objects
        self.dots = dots
        self.lives = lives
        self.aliases = aliases
        self.versions = versions
        let groups = [lives.transactions, aliases.transactions] + versions.map(\.transactions)
        var starts = [Int](repeating: 0, count: dots.count + 1)
        for transactions in groups {
            for transaction in transactions { starts[Int(transaction) + 1] += 1 }
        }
        for place in 1..<max(1, starts.count) { starts[place] += starts[place - 1] }
        var next = starts
        let count = starts[dots.count]
        places = [Place](unsafeUninitializedCapacity: count) { buffer, initialized in
            for (group, transactions) in groups.enumerated() {
                for (row, transaction) in transactions.enumerated() {
                    let place = Place(group: Int32(group), row: Int32(row))
                    buffer.initializeElement(at: next[Int(transaction)], to: place)
                    next[Int(transaction)] += 1
                }
            }
            initialized = count
        }
        self.starts = starts
    }

    /// How many facts some transactions have.
    package func count(in transactions: Range<Int>) -> Int {
        starts[transactions.upperBound] - starts[transactions.lowerBound]
    }

    /// The facts of some transactions as objects; those of all of them are in the order in which
    /// the batch has them, so that it is encoded again to the same bytes.
    /// - Complexity: O(facts of these transactions)
    package func facts(in transactions: Range<Int>) -> [Fact] {
        guard transactions != dots.indices else {
            let counts =
                [lives.objects.count, aliases.first.count] + versions.map(\.objects.count)
            return counts.enumerated().flatMap { group, count in
                (0..<count).map { fact(Place(group: Int32(group), row: Int32($0))) }
            }
        }
        return places[starts[transactions.lowerBound]..<starts[transactions.upperBound]].map(fact)
    }

    /// The rows of each group that are facts of some transactions, in the order of ``facts(in:)``.
    func rows(in transactions: Range<Int>) -> [[Int32]] {
        let counts = [lives.objects.count, aliases.first.count] + versions.map(\.objects.count)
        guard transactions != dots.indices else { return counts.map { Array(0..<Int32($0)) } }
        var rows: [[Int32]] = counts.map { _ in [] }
        for place in places[starts[transactions.lowerBound]..<starts[transactions.upperBound]] {
            rows[Int(place.group)].append(place.row)
        }
        return rows
    }

    /// Whether no cell has two groups: no batch of this program has.
    var hasDistinctGroups: Bool {
        Set(versions.map { UInt64($0.entity) << 32 | UInt64($0.cell) }).count == versions.count
    }

    private func fact(_ place: Place) -> Fact {
        let row = Int(place.row)
        switch place.group {
        case 0:
            let life = Life(
                dots[Int(lives.transactions[row])], kind: lives.kinds[row],
                incarnation: Int(lives.incarnations[row]))
            return .life(
                objects[Int(lives.objects[row])], entity: Int(lives.entities[row]), life)
        case 1:
            return .alias(
                objects[Int(aliases.first[row])], objects[Int(aliases.second[row])],
                dots[Int(aliases.transactions[row])])
        default:
            let versions = versions[Int(place.group) - 2]
            let version = Version(
                dots[Int(versions.transactions[row])],
                incarnation: Int(versions.incarnations[row]),
                value: versions.values.map { $0.field(row, objects: objects) })
            return .cell(
                objects[Int(versions.objects[row])], entity: versions.entity, cell: versions.cell,
                version)
        }
    }
}

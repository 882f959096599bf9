/// The last rule of the view: which number each row of an entity with shared numbers shows.
///
/// 1. Each row claims the number of its number's cell, like the value of any other cell.
/// 2. Of the rows that claim one number, the one with the earliest claim shows it: rows of living
///    objects before those that are shown although deleted, then by the time of the claim, its
///    transaction, the identity.
/// 3. Each other row, and each that claims none, shows `f(identity, k)` for the least k that is
///    free: a negative number, because SQLite gives the next row `max(rowid) + 1`.
///
/// Numbers are a function of the rows and their claims. No other rule depends on them: so they are
/// computed last, and a row that is not shown claims nothing.
struct SharedNumbers {
    /// The number of each row that has one, by the identity that it is shown under.
    private(set) var numbers: [ObjectUID: Int64] = [:]
    /// The rows that do not show a number which they claim, with the version of the claim.
    private(set) var lost: [ObjectUID: VersionID] = [:]

    private struct Claimant {
        let row: ObjectUID
        let source: VersionID
        let claim: NumberClaim
        let isRevived: Bool

        func precedes(_ other: Self) -> Bool {
            if isRevived != other.isRevived { return !isRevived }
            return (claim.since, claim.dot, row) < (other.claim.since, other.claim.dot, other.row)
        }
    }

    /// - Parameter order: the rows of an entity with shared numbers, each with the version of its
    ///   number's cell.
    /// - Complexity: O(rows), and O(n log n) for the n that show no number of their own.
    init(
        of order: [(row: ObjectUID, entity: Int, source: VersionID)], in state: MergeState,
        isRevived: (ObjectUID) -> Bool
    ) {
        var claimants: [Int: [Claimant]] = [:]
        for (row, entity, source) in order {
            guard let claim = state.claim(source) else { continue }
            claimants[entity, default: []].append(
                Claimant(row: row, source: source, claim: claim, isRevived: isRevived(row)))
        }
        for claimants in claimants.values { assign(claimants) }
    }

    private mutating func assign(_ claimants: [Claimant]) {
        var holders: [Int64: Claimant] = [:]
        var rest: [Claimant] = []
        for claimant in claimants {
            guard let number = claimant.claim.number else {
                rest.append(claimant)
                continue
            }
            guard let holder = holders[number] else {
                holders[number] = claimant
                continue
            }
            let isFirst = claimant.precedes(holder)
            holders[number] = isFirst ? claimant : holder
            rest.append(isFirst ? holder : claimant)
        }
        for (number, holder) in holders { numbers[holder.row] = number }
        var taken = Set(holders.keys)
        for claimant in rest.sorted(by: { $0.precedes($1) }) {
            var step: UInt32 = 1
            while !taken.insert(FallbackNumber.of(claimant.row, step)).inserted { step += 1 }
            numbers[claimant.row] = FallbackNumber.of(claimant.row, step)
            lost[claimant.row] = claimant.source
        }
    }
}

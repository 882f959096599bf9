import SyncMerge

/// The private numbers of one replica. Shared ones are part of the view.
///
/// Invariants: a row keeps its number while it is shown here; two shown rows of one entity have two
/// numbers; the number of a hidden object stays reserved until a writer uses it.
struct NumberMap {
    private var numbers: [ObjectUID: Int64] = [:]

    /// The number of a row.
    func number(of row: ObjectUID) -> Int64 { numbers[row] ?? 0 }

    /// Gives every row with a private key its number: the one it has here, else the least of its
    /// members, else the next free one.
    mutating func assign(for view: View, schema: MergeSchema, before names: [RowKey: ObjectUID]) {
        var shown: [ObjectUID: Int64] = [:]
        for (key, name) in names {
            guard schema.entities[key.entity].isPrivate, case .integer(let number) = key.values[0]
            else { continue }
            shown[name] = number
        }
        for (name, row) in view.rows {
            let entity = schema.entities[row.entity]
            guard entity.sharesNumbers,
                case .value(.integer(let number)) = row.fields[entity.key[0]]
            else { continue }
            numbers[name] = number
        }
        for (position, entity) in schema.entities.enumerated()
        where entity.hasPrivateNumbers {
            var used: Set<Int64> = []
            var waiting: [ObjectUID] = []
            for name in view.order {
                guard let row = view.rows[name], row.entity == position else { continue }
                var offers = row.members.compactMap { shown[$0] }
                if offers.isEmpty { offers = row.members.compactMap { numbers[$0] } }
                if let number = offers.filter({ !used.contains($0) }).min() {
                    numbers[name] = number
                    used.insert(number)
                } else {
                    waiting.append(name)
                }
            }
            for name in waiting {
                let greatest = max(numbers.values.max() ?? 0, used.max() ?? 0)
                let number = greatest < .max ? greatest + 1 : leastFree(beside: used)
                numbers[name] = number
                used.insert(number)
            }
        }
    }

    /// A number that no row has or reserves.
    private func leastFree(beside used: Set<Int64>) -> Int64 {
        let taken = used.union(numbers.values)
        var number: Int64 = 1
        while taken.contains(number) { number += 1 }
        return number
    }

    /// Adopts the numbers of a commit; reservations of numbers that are now used are dropped.
    mutating func adopt(_ recorded: RecordedCommit, schema: MergeSchema) {
        var holders: [RowKey: ObjectUID] = [:]
        for (key, name) in recorded.names {
            guard schema.entities[key.entity].isPrivate, case .integer(let number) = key.values[0]
            else { continue }
            let host = recorded.view.shownAs[name] ?? name
            numbers[host] = number
            holders[key] = host
        }
        numbers = numbers.filter { uid, number in
            guard let record = recorded.state.objects[uid] else { return true }
            let key = RowKey(entity: record.entity, [.integer(number)])
            return holders[key].map { $0 == uid } ?? true
        }
    }
}

extension MergeSchema {
    /// An order of rows that does not depend on how they were read.
    func precedes(_ left: RowKey, _ right: RowKey) -> Bool {
        if left.entity != right.entity { return left.entity < right.entity }
        return left.values.description < right.values.description
    }
}

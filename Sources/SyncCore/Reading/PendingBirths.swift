/// Which transactions that the history tables do not have yet inserted which objects.
///
/// Invariants:
/// - Transactions are noted in ascending order, each once: a number that was noted is passed over.
/// - Transactions up to the number given to ``forget(upTo:)`` are not held any more. Noting and
///   forgetting are O(1) for each insert, however long the backlog is.
struct PendingBirths {
    /// An insert: its own seq, because an object may be born and deleted in one transaction, and
    /// its transaction.
    private struct Birth {
        let seq: Int64
        let number: Int64
    }

    /// Nearly every object is born once: no array for it.
    private struct Births {
        var newest: Birth
        var older: [Birth] = []
    }

    /// By folded name.
    private var births: [ObjectName: Births] = [:]
    /// In the order of noting; what is before `head` is forgotten.
    private var order: [(number: Int64, name: ObjectName)] = []
    private var head = 0
    /// The last transaction that was noted or forgotten, or the end of what is complete.
    private(set) var end: Int64 = 0

    /// Takes the inserts of a transaction, unless it was noted.
    mutating func note(_ transaction: NetTransaction) {
        guard transaction.number > end else { return }
        end = transaction.number
        for change in transaction.changes where change.kind == .insert {
            let name = ObjectName(entity: change.entity.folded, key: change.key)
            let birth = Birth(seq: change.seq, number: transaction.number)
            order.append((transaction.number, name))
            guard let newest = births[name]?.newest else {
                births[name] = Births(newest: birth)
                continue
            }
            births[name]?.older.append(newest)
            births[name]?.newest = birth
        }
    }

    /// Takes it that what was not noted up to `number` inserted nothing.
    mutating func complete(upTo number: Int64) { end = max(end, number) }

    /// Forgets the inserts of the transactions up to `number`.
    mutating func forget(upTo number: Int64) {
        end = max(end, number)
        while head < order.count, order[head].number <= number {
            let name = order[head].name
            head += 1
            if births[name]?.older.isEmpty == false {
                births[name]?.older.removeFirst()
            } else {
                births[name] = nil
            }
        }
        guard head > order.count / 2 else { return }
        order.removeFirst(head)
        head = 0
    }

    /// Forgets the inserts of the transactions after `number`: they were of no state of the store.
    ///
    /// - Complexity: O(inserts that are forgotten).
    mutating func forget(after number: Int64) {
        end = min(end, number)
        while order.count > head, let last = order.last, last.number > number {
            order.removeLast()
            if let before = births[last.name]?.older.popLast() {
                births[last.name]?.newest = before
            } else {
                births[last.name] = nil
            }
        }
    }

    /// The transaction that last inserted an object before `seq`; nil when none that is held did.
    func number(_ name: ObjectName, before seq: Int64) -> Int64? {
        guard let births = births[name] else { return nil }
        if births.newest.seq < seq { return births.newest.number }
        return births.older.last { $0.seq < seq }?.number
    }
}

import SyncValues

/// A counter: an initial value, and for each replica the total of what it has added since.
///
/// Invariants
/// - A state includes the states that its writer saw: overwriting a version loses nothing of it.
/// - The total of a replica is that of its latest transaction: a greater number wins, no total is
///   counted twice.
/// - The time of an initial value is above those that it replaced, also where clocks are wrong.
///
/// Anything but an integer (NULL, text, a real) is a value like any other, and the latest one is
/// shown; the totals are kept in case an integer is written again. Sums wrap around.
struct CounterState: Hashable {
    struct Initial: Hashable {
        var time: HybridTime
        var dot: Dot
        var value: Value
    }

    struct Total: Hashable {
        var number: Int64
        var sum: Int64
    }

    private(set) var initial: Initial
    private(set) var totals: [ReplicaID: Total] = [:]

    /// Reads the value of a version.
    init(_ value: Value, dot: Dot, time: HybridTime) {
        let (state, plain) = BlendCoding.unpacked(value, as: .counter) { try Self(reading: &$0) }
        self = state ?? Self(initial: Initial(time: time, dot: dot, value: plain))
    }

    private init(initial: Initial) { self.initial = initial }

    /// The value that the tables show.
    var shown: Value {
        guard case .integer(let start) = initial.value else { return initial.value }
        return .integer(start &+ sum)
    }

    private var sum: Int64 { totals.values.reduce(0) { $0 &+ $1.sum } }

    /// Joins the state of another version.
    mutating func join(_ other: Self) {
        let (mine, theirs) = (initial, other.initial)
        if (mine.time, mine.dot) < (theirs.time, theirs.dot) { initial = theirs }
        for (replica, total) in other.totals where total.number > totals[replica]?.number ?? 0 {
            totals[replica] = total
        }
    }

    /// Whether the value shown includes a version.
    func reflects(_ other: Self) -> Bool {
        other.initial == initial || other.initial.value == initial.value
    }

    /// Records a write of a writer that saw the state.
    mutating func write(_ value: Value, dot: Dot, time: HybridTime) {
        if case .integer(let wanted) = value, case .integer(let present) = shown {
            let own = totals[dot.replica]?.sum ?? 0
            totals[dot.replica] = Total(number: dot.number, sum: own &+ (wanted &- present))
            return
        }
        var value = value
        if case .integer(let wanted) = value { value = .integer(wanted &- sum) }
        let least = initial.time.next
        initial = Initial(time: max(time, least), dot: dot, value: value)
    }

    // MARK: Bytes

    private init(reading reader: inout ByteReader) throws {
        let time = HybridTime(rawValue: try reader.varint())
        initial = Initial(time: time, dot: try reader.dot(), value: try reader.value())
        for (dot, sum) in try reader.list({ (try $0.dot(), try $0.signed()) }) {
            totals[dot.replica] = Total(number: dot.number, sum: sum)
        }
    }

    /// The value of a version.
    var packed: Value {
        BlendCoding.packed(as: .counter) { writer in
            writer.append(varint: initial.time.rawValue)
            writer.append(initial.dot)
            writer.append(initial.value)
            writer.append(varint: UInt64(totals.count))
            for (replica, total) in totals.sorted(by: { $0.key < $1.key }) {
                writer.append(Dot(replica, total.number))
                writer.append(signed: total.sum)
            }
        }
    }
}

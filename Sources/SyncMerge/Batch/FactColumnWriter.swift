import SyncValues

/// Writes facts that are in columns already: the bytes that ``FactColumns`` writes of the same
/// facts as objects.
struct FactColumnWriter {
    private let columns: ArrivingFacts
    private let tables: BatchTables
    /// By position of the object in the columns: its position in the batch.
    private let places: [Int32]
    /// By transaction: the position of its replica.
    private let replicas: [Int]
    /// The rows of each group, in the order in which they are written.
    private let rows: [[Int32]]

    /// - Parameter range: the transactions whose facts are written.
    init(_ columns: ArrivingFacts, range: Range<Int>, tables: BatchTables) {
        self.columns = columns
        self.tables = tables
        let places = tables.placesOfColumns
        self.places = places
        replicas = columns.dots.map { tables.place(of: $0.replica) }
        rows = columns.rows(in: range).enumerated().map { group, rows in
            switch group {
            case 0:
                return Self.sorted(
                    rows, by: columns.lives.objects, columns.lives.transactions, places,
                    columns.dots)
            // Aliases have no order of their dots: one pair of objects has one.
            case 1:
                return rows.sorted { left, right in
                    let (left, right) = (Int(left), Int(right))
                    let aliases = columns.aliases
                    return (places[Int(aliases.first[left])], places[Int(aliases.second[left])])
                        < (places[Int(aliases.first[right])], places[Int(aliases.second[right])])
                }
            default:
                let versions = columns.versions[group - 2]
                return Self.sorted(
                    rows, by: versions.objects, versions.transactions, places, columns.dots)
            }
        }
    }

    /// The rows by the positions of their objects, then by their transactions.
    private static func sorted(
        _ rows: [Int32], by objects: [Int32], _ transactions: [Int32], _ places: [Int32],
        _ dots: [Dot]
    ) -> [Int32] {
        var keys = rows.map { UInt64(places[Int(objects[Int($0)])]) << 32 | UInt64($0) }
        let isAscending = zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 }
        if !isAscending { keys.sort() }
        var sorted = keys.map { Int32(truncatingIfNeeded: $0 & 0xFFFF_FFFF) }
        var start = 0
        for index in keys.indices {
            let isLast = index + 1 == keys.count || keys[index + 1] >> 32 != keys[index] >> 32
            guard isLast else { continue }
            if index > start {
                sorted[start...index].sort { left, right in
                    let first = dots[Int(transactions[Int(left)])]
                    let second = dots[Int(transactions[Int(right)])]
                    return first == second ? left < right : first < second
                }
            }
            start = index + 1
        }
        return sorted
    }

    func write(to content: inout ByteWriter) {
        writeLives(rows[0], to: &content)
        writeAliases(rows[1], to: &content)
        let groups = columns.versions.indices.filter { !rows[$0 + 2].isEmpty }.sorted {
            let (left, right) = (columns.versions[$0], columns.versions[$1])
            return (left.entity, left.cell) < (right.entity, right.cell)
        }
        content.append(varint: UInt64(groups.count))
        for group in groups {
            content.append(varint: UInt64(columns.versions[group].entity))
            content.append(varint: UInt64(columns.versions[group].cell))
            write(columns.versions[group], rows[group + 2], to: &content)
        }
    }

    private func append(_ transaction: Int32, to dots: inout DotColumn) {
        dots.append(columns.dots[Int(transaction)].number, of: replicas[Int(transaction)])
    }

    private func writeLives(_ rows: [Int32], to content: inout ByteWriter) {
        let lives = columns.lives
        content.append(varint: UInt64(rows.count))
        var objects = DeltaColumn()
        var kinds = ByteWriter()
        var dots = DotColumn()
        var incarnations = ByteWriter()
        for row in rows.lazy.map(Int.init) {
            objects.append(Int64(places[Int(lives.objects[row])]))
            kinds.append(
                varint: UInt64(lives.entities[row]) << 2 | UInt64(lives.kinds[row].rawValue))
            append(lives.transactions[row], to: &dots)
            incarnations.append(varint: UInt64(lives.incarnations[row]))
        }
        for column in [objects.writer, kinds] + dots.columns + [incarnations] {
            content.append(counted: column.bytes)
        }
    }

    private func writeAliases(_ rows: [Int32], to content: inout ByteWriter) {
        let aliases = columns.aliases
        content.append(varint: UInt64(rows.count))
        var first = DeltaColumn()
        var second = DeltaColumn()
        var dots = DotColumn()
        for row in rows.lazy.map(Int.init) {
            first.append(Int64(places[Int(aliases.first[row])]))
            second.append(Int64(places[Int(aliases.second[row])]))
            append(aliases.transactions[row], to: &dots)
        }
        for column in [first.writer, second.writer] + dots.columns {
            content.append(counted: column.bytes)
        }
    }

    private func write(
        _ versions: ArrivingFacts.Versions, _ rows: [Int32], to content: inout ByteWriter
    ) {
        content.append(varint: UInt64(rows.count))
        var objects = DeltaColumn()
        var dots = DotColumn()
        var incarnations = ByteWriter()
        for row in rows.lazy.map(Int.init) {
            objects.append(Int64(places[Int(versions.objects[row])]))
            append(versions.transactions[row], to: &dots)
            incarnations.append(varint: UInt64(versions.incarnations[row]))
        }
        for column in [objects.writer] + dots.columns + [incarnations] {
            content.append(counted: column.bytes)
        }
        for spans in versions.values {
            var values = ValueColumn()
            for row in rows { values.append(spans, Int(row), places: places) }
            values.write(to: &content)
        }
    }
}

import SyncMerge
import SyncStorage
import SyncValues

/// What is stored of the objects of a slice, and the numbers of new ones.
extension FastLane {
    /// Looks up what is stored of the objects, and refuses those that are not plain.
    /// - Throws: SQLite errors; `corrupt`, `badData` for records that cannot be read.
    /// - Complexity: O(objects, and what is unresolved), a look-up for each
    func look() throws {
        let unresolved = try storage.objects.objects(try storage.objects.unresolved())
        var troubled = Set(unresolved.keys)
        for object in unresolved.values {
            troubled.formUnion(object.record.targets)
            troubledEntities.insert(object.record.entity)
        }
        aliased =
            try storage.objects.hasAliases()
            ? Set(storage.objects.aliases().keys.flatMap { [$0.first, $0.second] }) : []
        for arrival in arrivals {
            lane.find.addRow()
            lane.find.bind(arrival.uid, at: 1)
        }
        var kept: [Arrival] = []
        kept.reserveCapacity(arrivals.count)
        var next = arrivals.makeIterator()
        try lane.find.forEachRow { row in
            guard var arrival = next.next() else { throw Self.isAmbiguous }
            if let reason = try reason(against: &arrival, row, troubled: troubled) {
                refuse(arrival.object, reason, entity: arrival.entity)
            } else {
                kept.append(arrival)
            }
        }
        guard next.next() == nil else { throw Self.isAmbiguous }
        arrivals = kept
    }

    private static var isAmbiguous: SyncError {
        SyncError(.internalFault, "a look-up gives other rows than one for each object")
    }

    /// - Parameter row: what is stored of it.
    private func reason(
        against arrival: inout Arrival, _ row: Statement, troubled: Set<ObjectUID>
    ) throws -> LaneReason? {
        if aliased.contains(arrival.uid) { return .alias }
        if !troubled.isEmpty {
            if troubled.contains(arrival.uid) { return .trouble }
            guard
                !troubledEntities.contains(arrival.entity)
                    || storage.schema.merge.entities[arrival.entity].claims.isEmpty
            else { return .claim }
        }
        guard let entity = lane.entities[arrival.entity] else { return .entity }
        guard !row.isNull(0) else {
            return arrival.isNew ? identify(&arrival, entity) : .incomplete
        }
        guard !arrival.isNew, row.integer(1) == storage.shapes.number(of: arrival.entity),
            row.integer(4) == StoredObject.State.plain.rawValue, !row.isNull(2)
        else { return .life }
        arrival.id = row.integer(0)
        if entity.isPrivate {
            arrival.number = row.integer(2)
        } else {
            arrival.key = try StoredKey.key(from: row.value(2)) ?? []
        }
        let start = records.count
        let isRecord = row.withBlob(6) { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { records.append(contentsOf: $0) }
            return parsed.read(bytes, widths: widths[arrival.entity])
        }
        guard isRecord, parsed.lifeCount == 1, parsed.lifeKind == LifeKind.created.rawValue else {
            return .life
        }
        if parsed.hasParts { return .rivals }
        arrival.record = start..<records.count
        arrival.shown = arrival.cells
        return try findRivals(of: &arrival, entity)
    }

    /// Finds out whether each writer of a version had seen what it overwrites.
    private func findRivals(
        of arrival: inout Arrival, _ entity: LaneEntity
    ) throws -> LaneReason? {
        for place in order[arrival.facts] {
            let cell = cell(of: place)
            guard entity.cells[cell].isWritable else { return .policy }
            guard incarnation(of: place) == parsed.lifeIncarnation else { return .life }
            let known = parsed.cells[cell]
            var isContested = known.count > 1
            if known.count == 1 {
                let dot = Dot(try replica(known.dot.replica), known.dot.number)
                isContested = !header(transaction(of: place)).seen.covers(dot)
            }
            guard isContested else { continue }
            guard entity.cells[cell].mayBeContested else { return .rivals }
            arrival.isContested = true
        }
        return nil
    }

    /// The key of a new object.
    private func identify(_ arrival: inout Arrival, _ entity: LaneEntity) -> LaneReason? {
        if entity.isPrivate {
            guard let number = batch.extras.numbers[arrival.uid] else { return .number }
            arrival.number = number
            return nil
        }
        var key: [Value] = []
        for column in entity.key {
            guard let value = value(of: column, arrival) else { return .key }
            // As the column holds it: any other value is converted, and so is the key.
            switch (value, entity.table.affinities[column]) {
            case (.integer, .integer), (.integer, .numeric), (.integer, .blob), (.text, .text),
                (.text, .blob), (.blob, _):
                key.append(value)
            default: return .key
            }
        }
        arrival.key = key
        return nil
    }

    /// The plain value that an object gets in a column.
    private func value(of column: Int, _ arrival: Arrival) -> Value? {
        guard let (spans, row) = spans(of: column, arrival),
            case .value(let value) = spans.field(row, objects: facts.objects)
        else { return nil }
        return value
    }

    private func spans(of column: Int, _ arrival: Arrival) -> (ValueSpans, Int)? {
        let entity = storage.schema.merge.entities[arrival.entity]
        guard let cell = entity.cellOfColumn[column],
            let place = entity.cells[cell].firstIndex(of: column)
        else { return nil }
        for fact in order[arrival.facts] where fact.group >= 2 {
            let versions = facts.versions[Int(fact.group) - 2]
            if versions.cell == cell { return (versions.values[place], Int(fact.row)) }
        }
        return nil
    }

    // MARK: Numbers

    /// Gives new rows their private numbers, as ``TableImage`` does: in the order of the
    /// identities, those of the sender where they are free, else the next ones.
    /// - Returns: a reason where a table has no number after the greatest one.
    /// - Throws: SQLite errors.
    /// - Complexity: O(n log n) of the new objects; a look-up for each whose number is not above
    ///   all of its table.
    func assignNumbers() throws -> LaneReason? {
        var places: [Int: [Int]] = [:]
        for (place, arrival) in arrivals.enumerated()
        where arrival.isNew && lane.entities[arrival.entity]?.isPrivate == true {
            places[arrival.entity, default: []].append(place)
        }
        for (entity, places) in places.sorted(by: { $0.key < $1.key }) {
            let isNumbered = try assignNumbers(
                to: places.sorted { arrivals[$0].uid < arrivals[$1].uid }, of: entity)
            guard isNumbered else { return .number }
        }
        return nil
    }

    /// Who has a number that a new row may get.
    private enum NumberUse {
        case free
        /// A deleted object.
        case ofDeleted
    }

    private func assignNumbers(to places: [Int], of entity: Int) throws -> Bool {
        let hasReservations = try storage.objects.isAnyNumberReserved()
        let newestRow = try lane.greatestNumber(of: entity)
        /// nil: a row has it, or it is reserved.
        func use(_ number: Int64) throws -> NumberUse? {
            if number > newestRow, !hasReservations { return .free }
            let key = RowKey(entity: entity, [.integer(number)])
            guard try storage.objects.uid(of: key) == nil else { return nil }
            let holder = try storage.objects.holder(ofNumber: number, entity: entity)
            guard let holder else { return .free }
            return holder.isGone ? .ofDeleted : nil
        }
        var used: Set<Int64> = []
        var greatest: Int64?
        for place in places {
            var number = arrivals[place].number
            let use = used.contains(number) ? nil : try use(number)
            if use == .ofDeleted { arrivals[place].takesNumber = true }
            if use == nil {
                let known =
                    try greatest
                    ?? max(storage.greatestNumber(of: entity), used.max() ?? 0)
                guard known < .max else { return false }
                number = known + 1
                arrivals[place].number = number
                // References to it were looked up with the sender's number.
                targets[arrivals[place].object] = nil
                greatest = number
            } else if let known = greatest {
                greatest = max(known, number)
            }
            used.insert(number)
        }
        return true
    }
}

import CSQLite

/// One write transaction of merging: what was committed is stated, batches are joined, the tables
/// become the view, history and conflicts are told.
///
/// Invariant: `rows` is what the tables hold, `view` the view of `region.base`, and after each step
/// the one is the image of the other.
final class MergeWork {
    let session: MergeSession
    let prepared: MergeSession.Prepared
    private(set) var region: Region
    private(set) var view: View
    private(set) var rows: [RowKey: [Value]] = [:]
    private var clock: HybridClock
    private var place: Int64

    var schema: ReplicaSchema { prepared.schema }

    init(_ session: MergeSession, _ prepared: MergeSession.Prepared) throws {
        self.session = session
        self.prepared = prepared
        try prepared.history.digest(try session.environment.boundaries())
        let objects = try prepared.objects.all()
        let base = Base(
            schema: prepared.schema.merge, vector: try prepared.headers.vector(),
            headers: try prepared.headers.all(), objects: objects.mapValues(\.record),
            aliases: try prepared.objects.aliases())
        region = Region(base: base, objects: objects)
        view = View(base)
        let last = try prepared.history.settings.integer(.clock)
        clock = HybridClock(last: HybridTime(rawValue: UInt64(bitPattern: last)))
        place = try prepared.headers.newestPlace()
        try readRows()
    }

    private func readRows() throws {
        for (position, table) in schema.tables.enumerated() {
            let select = try prepared.statements.statement(table.selectAll)
            while try select.step() {
                let row = table.columns.indices.map { select.value(Int32($0)) }
                rows[RowKey(entity: position, table.key.map { row[$0] })] = row
            }
        }
    }

    /// The number under which the present transaction is told of.
    var number: Int64 { prepared.history.head }

    // MARK: Local transactions

    /// States what writers have committed since the last time.
    func stateLocal() throws {
        let settings = prepared.history.settings
        let isFirst = try settings.value(.stated) == .null
        let entries = try prepared.tail.entries(after: try settings.integer(.stated))
            .filter(\.isLocal)
        guard isFirst || !entries.isEmpty else { return }
        let replica = session.identity.replica
        let (before, after) = (region.names, rows)
        let backlog = Backlog(
            entries, schema, replica: replica, isPresent: { before[$0] != nil },
            exists: { after[$0] != nil })
        var headers = entries.map { header(of: $0) }
        if isFirst { headers.append(try headerOfTheBeginning(after: headers.last)) }
        guard let last = headers.last else { return }
        let salt = try FormerReplicas(settings.value(.former), present: replica)
        let commit = Commit(
            rows: rows.map { Commit.Row($0.key, $0.value) }.sorted { $0.key.precedes($1.key) },
            recreated: backlog.recreated, rekeyed: backlog.rekeyed, dates: backlog.dates)
        let identity = session.identity
        let schema = schema
        func uid(_ key: RowKey, _ birth: HistoryTail.Birth?) -> ObjectUID {
            PrivateIdentity.uid(
                store: identity.store, replica: salt.replica(of: birth?.seq ?? 0),
                entity: schema.tables[key.entity].name, key: key.values[0], birth: birth)
        }
        let digested = try region.base.digest(
            commit, view: view, names: region.names, Array(headers.dropLast()), last: last
        ) { uid($0, backlog.arrivals[$0]) }
        var told = backlog.changes
        if isFirst { told.append([]) }
        for ((header, entry), changes) in zip(
            zip(headers, entries.map(Optional.some) + [nil]), told)
        {
            var transaction = Batch.Transaction(header)
            transaction.author = entry?.author
            transaction.context = entry?.context
            transaction.process = entry?.process?.name
            transaction.pid = entry?.process?.pid
            transaction.flags = UInt64(entry?.flags.rawValue ?? 0)
            transaction.changes = changes.compactMap { change in
                let object =
                    change.origin.flatMap { before[$0] }
                    ?? (change.birth != nil && backlog.births[change.key] == change.birth
                        ? digested.names[change.key] : nil)
                    ?? (schema.merge.entities[change.key.entity].isPrivate
                        ? uid(change.key, change.birth) : nil)
                return object.map {
                    Batch.Change(
                        $0, entity: change.key.entity, change.kind, cells: change.cells)
                }
            }
            try append(transaction)
        }
        try settings.set(.stated, .integer(prepared.history.head))
        var keys: [ObjectUID: [Value]] = [:]
        for (key, name) in digested.names {
            keys[digested.view.hosts[name] ?? name] = key.values
        }
        try adopt(digested.base, digested.view, keys)
        if session.environment.isVerifying { try verify("stating local transactions") }
    }

    /// The tables are the image of the view of the whole base.
    private func verify(_ step: String) throws {
        let image = try TableImage(
            View(region.base), schema.merge, before: region.names, numbering([:]))
        let held = rows
        rows = [:]
        try readRows()
        guard rows == held, image.rows == rows, image.names == region.names else {
            throw SyncError(.internalFault, "after \(step) the tables are not the view")
        }
    }

    private func header(of entry: HistoryTail.Entry) -> TransactionHeader {
        var seen = region.base.vector
        for dot in [lastOwn].compactMap({ $0 }) { seen.advance(to: dot) }
        let dot = Dot(session.identity.replica, entry.number)
        lastOwn = dot
        return TransactionHeader(
            dot, time: clock.reading(wall: entry.time.milliseconds), seen: seen)
    }

    private var lastOwn: Dot?

    /// The rows that no transaction tells of were there before history: they are as old as the
    /// store.
    private func headerOfTheBeginning(after last: TransactionHeader?) throws -> TransactionHeader {
        let number = prepared.history.allocate(1).upperBound
        var seen = region.base.vector
        if let last { seen.advance(to: last.dot) }
        let created = try prepared.history.settings.integer(.created)
        return TransactionHeader(
            Dot(session.identity.replica, number), time: HybridTime(milliseconds: created),
            seen: seen)
    }

    // MARK: Merging

    /// Joins what a batch tells and shows it.
    /// - Returns: false when it starts after what is here.
    func merge(_ batch: Batch) throws -> Bool {
        let (delta, unknown) = batch.resolved(in: schema.merge)
        let merged = region.base.vector
        let fresh = batch.transactions.filter { !merged.covers($0.header.dot) }
        var base = region.base
        guard base.merge(delta) else { return false }
        guard !fresh.isEmpty else { return true }
        precondition(unknown.count >= 0)
        for transaction in fresh {
            _ = clock.observe(
                transaction.header.time, wall: session.environment.wall(),
                driftMax: session.environment.driftMax)
            try append(transaction)
        }
        try show(base, transactions: fresh, hints: batch.extras.numbers)
        return true
    }

    /// Writes the view of a base into the tables and tells history.
    private func show(
        _ base: Base, transactions: [Batch.Transaction], hints: [ObjectUID: Int64] = [:]
    ) throws {
        let shown = View(base)
        let image = try TableImage(shown, schema.merge, before: region.names, numbering(hints))
        let differences = TableWriter.differences(from: rows, to: image.rows)
        try TableWriter(schema.tables, prepared.statements).write(differences)
        let before = Self.keys(region.names)
        let after = Self.keys(image.names)
        try MergedHistory(
            schema, prepared.history, replica: session.identity.replica,
            wall: session.environment.wall(),
            before: { self.view.hosts[$0].flatMap { before[$0] } },
            after: { shown.hosts[$0].flatMap { after[$0] } }
        ).write(transactions, differences)
        rows = image.rows
        try adopt(base, shown, after)
        if session.environment.isVerifying { try verify("a merge") }
    }

    private static func keys(_ names: [RowKey: ObjectUID]) -> [ObjectUID: [Value]] {
        var keys: [ObjectUID: [Value]] = [:]
        for (key, name) in names { keys[name] = key.values }
        return keys
    }

    private func numbering(_ hints: [ObjectUID: Int64]) -> TableImage.Numbering {
        var reserved: [RowKey: ObjectUID] = [:]
        for (uid, object) in region.objects {
            guard let number = object.number else { continue }
            reserved[RowKey(entity: object.record.entity, [.integer(number)])] = uid
        }
        return TableImage.Numbering(
            known: { self.region.objects[$0]?.number },
            hint: { hints[$0] },
            isTaken: { entity, number, uid in
                let key = RowKey(entity: entity, [.integer(number)])
                return self.rows[key] != nil || reserved[key].map { $0 != uid } ?? false
            },
            greatest: { entity in
                let select = try self.prepared.statements.statement(
                    self.schema.tables[entity].greatestNumber)
                defer { select.reset() }
                let shown = try select.step() ? select.integer(0) : 0
                return try max(0, shown, self.prepared.objects.greatestNumber(of: entity))
            })
    }

    // MARK: Conflicts

    /// States facts in the name of a person, and shows what becomes of them.
    /// - Parameter body: states them; gets the view as it is.
    func speak(author: String?, context: String?, _ body: (inout Speaker, View) throws -> Void)
        throws
    {
        let number = prepared.history.allocate(1).upperBound
        let dot = Dot(session.identity.replica, number)
        let time = clock.reading(wall: session.environment.wall())
        var speaker = Speaker(region.base, dot: dot, time: time)
        try body(&speaker, view)
        var transaction = Batch.Transaction(speaker.header, author: author, context: context)
        transaction.changes = speaker.changes
        try append(transaction)
        try show(speaker.base, transactions: [transaction])
    }

    /// Turns every open repair into facts; the tables do not change.
    func close(author: String?) throws {
        let number = prepared.history.allocate(1).upperBound
        let dot = Dot(session.identity.replica, number)
        let time = clock.reading(wall: session.environment.wall())
        let closed = try region.base.close(
            view: view, names: region.names, dot: dot, time: time)
        let transaction = Batch.Transaction(closed.header, author: author, context: "settle")
        try append(transaction)
        try show(closed.base, transactions: [transaction])
        // What was lost to something newer is no repair: it ends when somebody who saw it writes.
        guard !view.conflicts.isEmpty else { return }
        try speak(author: author, context: "settle") { speaker, view in
            for id in view.conflicts.keys.sorted() { speaker.accept(id, view) }
        }
    }

    // MARK: Storing

    private func append(_ transaction: Batch.Transaction) throws {
        place += 1
        places[transaction.header.dot] = place
        let details = HeaderDetails.encode(transaction) { self.prepared.shapes.number(of: $0) }
        try prepared.headers.append(transaction.header, place: place, details: details)
    }

    private var places: [Dot: Int64] = [:]

    /// Stores what has changed of a base, and how its objects stand in the tables.
    private func adopt(_ base: Base, _ shown: View, _ keys: [ObjectUID: [Value]]) throws {
        var objects: [ObjectUID: StoredObject] = [:]
        var troubled = Set(shown.conflicts.keys.map(\.object))
        troubled.formUnion(shown.revived)
        let numbers = takenNumbers(base, keys)
        for (uid, record) in base.objects {
            var object =
                region.objects[uid]
                ?? StoredObject(record: record, key: nil, number: nil, state: .plain, place: 0)
            if object.record != record || object.place == 0 {
                object.record = record
                object.place = max(object.place, record.dots.compactMap { places[$0] }.max() ?? 0)
            }
            object.key = keys[uid]
            if base.schema.entities[record.entity].isPrivate {
                if let key = object.key, case .integer(let number) = key[0] {
                    object.number = number
                } else if let number = object.number,
                    numbers.contains(RowKey(entity: record.entity, [.integer(number)]))
                {
                    object.number = nil
                }
            }
            object.state = Self.state(uid, record, base, shown, isTroubled: troubled.contains(uid))
            if region.objects[uid] != object { try prepared.objects.write(uid, object) }
            objects[uid] = object
        }
        for uid in region.objects.keys where base.objects[uid] == nil {
            try prepared.objects.remove(uid)
        }
        for (alias, dot) in base.aliases where region.base.aliases[alias] != dot {
            try prepared.objects.write(alias, dot)
        }
        region = Region(base: base, objects: objects)
        view = shown
        try prepared.conflicts.update(shown, base, keys: keys, number: number) { _ in true }
    }

    private func takenNumbers(_ base: Base, _ keys: [ObjectUID: [Value]]) -> Set<RowKey> {
        var taken: Set<RowKey> = []
        for (uid, key) in keys {
            guard let record = base.objects[uid] else { continue }
            taken.insert(RowKey(entity: record.entity, key))
        }
        return taken
    }

    private static func state(
        _ uid: ObjectUID, _ record: ObjectRecord, _ base: Base, _ shown: View, isTroubled: Bool
    ) -> StoredObject.State {
        if isTroubled { return .troubled }
        guard let row = shown.rows[uid], row.members.count == 1 else {
            let isHosted = shown.hosts[uid] != nil
            return isHosted || base.isAlive(record) || record.life.isEmpty ? .troubled : .gone
        }
        for (cell, source) in row.sources.enumerated() {
            guard source != nil, record.cells[cell].count == 1 else { return .troubled }
            let columns = base.schema.entities[record.entity].cells[cell]
            for (column, field) in zip(columns, record.cells[cell][0].value)
            where row.fields[column] != field {
                return .troubled
            }
        }
        return .plain
    }

    /// Makes what was done last.
    func finish() throws {
        try prepared.history.finish()
        let settings = prepared.history.settings
        let clock = Int64(bitPattern: clock.last.rawValue)
        if try settings.integer(.clock) != clock { try settings.set(.clock, .integer(clock)) }
        if try settings.integer(.stated) < prepared.history.head {
            try settings.set(.stated, .integer(prepared.history.head))
        }
    }
}

extension ObjectRecord {
    /// The transactions of all its facts.
    var dots: [Dot] { life.map(\.dot) + cells.joined().map(\.dot) }
}
